import { readFile } from 'node:fs/promises';
import { Secret } from '@flotilla/api/core';
import { AGENT_ACCOUNT } from '@flotilla/api/ocm';
import { type Client, type Clock, type Logger, pause, requestToken } from '@flotilla/runtime';
import { z } from 'zod';

/** A file written by the kubelet lags behind its Secret; looking again sooner would only renew twice. */
const LOOK_AGAIN_MS = 10 * 60_000;
const LOOK_EVERY_MS = 3_600_000;

/** What the renewal works with. */
export interface TokenDeps {
  readonly hub: Pick<Client, 'request'>;
  readonly spoke: Pick<Client, 'patch'>;
  readonly clusterName: string;
  /** Path of the kubeconfig for the hub, as the kubelet mounts it. */
  readonly kubeconfigPath: string;
  /** The Secret on the spoke that it is mounted from, and its key. */
  readonly secret: { readonly namespace: string; readonly name: string; readonly key: string };
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). Default Math.random. */
  readonly random?: () => number;
  /** Default: reads the file. */
  readonly read?: (path: string) => Promise<string>;
}

/**
 * Keeps the agent's token for the hub young, until the signal aborts: past half of its life it asks the hub for the next one and
 * stores it in the Secret, from where it reaches the file and, within a minute, the client. The old one stays good meanwhile, so no
 * step of this can lock the agent out, and a spoke may be away for half of a token's life.
 */
export async function keepToken(deps: TokenDeps, signal: AbortSignal): Promise<void> {
  const { clock, logger, random = Math.random } = deps;
  // Spreads the fleet, whose tokens may be of one hour.
  const share = 0.5 + 0.2 * random();
  while (!signal.aborted) {
    let waitMs = LOOK_AGAIN_MS;
    try {
      const current = readToken(await (deps.read ?? readText)(deps.kubeconfigPath));
      const dueMs = current.issuedAtMs + current.lifetimeMs * share - clock.now();
      if (dueMs > 0) waitMs = Math.min(dueMs, LOOK_EVERY_MS);
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

/** Reads the kubeconfig as `join` writes it: JSON, one user, a token that says how long it lives. */
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
