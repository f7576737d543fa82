import { readFile } from 'node:fs/promises';
import { Secret } from '@flotilla/api/core';
import { AGENT_ACCOUNT } from '@flotilla/api/ocm';
import { type Client, type Clock, type Logger, pause, requestToken } from '@flotilla/runtime';
import { z } from 'zod';

/** Milliseconds until the next check after a renewal: the kubelet's file lags behind its Secret, and an earlier check would renew twice. */
const RECHECK_MS = 10 * 60_000;
/** A clock that steps, as of a suspended machine, is noticed well before a token of an hour has run out. */
const CHECK_EVERY_MS = 60_000;

/** Dependencies of `keepToken`. */
export interface TokenDeps {
  readonly hub: Pick<Client, 'request'>;
  readonly spoke: Pick<Client, 'patch'>;
  readonly clusterName: string;
  /** Path of the kubeconfig for the hub, as the kubelet mounts it. */
  readonly kubeconfigPath: string;
  /** Secret on the spoke that the file is mounted from, and its key. */
  readonly secret: { readonly namespace: string; readonly name: string; readonly key: string };
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). Default Math.random. */
  readonly random?: () => number;
  /** Default: reads the file. */
  readonly read?: (path: string) => Promise<string>;
}

/**
 * Keeps the agent's token for the hub young, until the signal aborts. Past half of its life, it requests the next one and stores it in the Secret.
 * From there the token reaches the file and, within a minute, the client. The old token stays valid meanwhile, so no step can lock the agent out. A
 * spoke may be away for half of a token's life.
 */
export async function keepToken(deps: TokenDeps, signal: AbortSignal): Promise<void> {
  const { clock, logger, random = Math.random } = deps;
  // Spreads the fleet, whose tokens may live only one hour.
  const share = 0.5 + 0.2 * random();
  while (!signal.aborted) {
    let waitMs = RECHECK_MS;
    try {
      const current = readToken(await (deps.read ?? readText)(deps.kubeconfigPath));
      const dueMs = current.issuedAtMs + current.lifetimeMs * share - clock.now();
      if (dueMs > 0) waitMs = Math.min(dueMs, CHECK_EVERY_MS);
      else await renew(deps, current);
    } catch (err) {
      if (!signal.aborted) logger.warn({ err }, 'Renewing the token for the hub failed, trying again');
    }
    await pause(clock, waitMs, signal);
  }
}

const readText = (path: string): Promise<string> => readFile(path, 'utf8');

const Kubeconfig = z.looseObject({
  users: z.tuple([z.looseObject({ user: z.looseObject({ token: z.string().min(1) }) })], {
    error: 'users must be one user with a token; register the spoke again, or run without --hub-kubeconfig-secret',
  }),
});
const Claims = z.object({ iat: z.number(), exp: z.number() });

interface CurrentToken {
  readonly kubeconfig: z.output<typeof Kubeconfig>;
  readonly issuedAtMs: number;
  readonly lifetimeMs: number;
}

/** Reads the kubeconfig as `join` writes it: JSON, one user, a token with its lifetime. */
function readToken(text: string): CurrentToken {
  const kubeconfig = Kubeconfig.parse(JSON.parse(text));
  const [, claims = ''] = kubeconfig.users[0].user.token.split('.');
  const { iat, exp } = Claims.parse(JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')));
  return { kubeconfig, issuedAtMs: iat * 1000, lifetimeMs: (exp - iat) * 1000 };
}

async function renew({ hub, spoke, clusterName, secret, logger }: TokenDeps, current: CurrentToken): Promise<void> {
  const account = { namespace: clusterName, name: AGENT_ACCOUNT };
  const token = await requestToken(hub, account, Math.max(600, current.lifetimeMs / 1000));
  const [{ user, ...rest }] = current.kubeconfig.users;
  const kubeconfig = JSON.stringify({ ...current.kubeconfig, users: [{ ...rest, user: { ...user, token } }] });
  const { namespace, name, key } = secret;
  await spoke.patch(Secret, { namespace, name }, { stringData: { [key]: kubeconfig } }, { type: 'merge' });
  logger.info({ secret: `${namespace}/${name}` }, 'Renewed the token for the hub');
}
