import { AGENT_ACCOUNT, FlotillaError, findCondition, HUB_ACCEPTED, ManagedCluster } from '@flotilla/api';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';

/** Field manager of what the command writes, on hub and spoke. */
export const FIELD_MANAGER = 'flotilla-cli';

/** Creates the ManagedCluster, or accepts the one that is there; its other fields and labels stay as they are. */
export async function acceptCluster(hub: Client, name: string, labels: Readonly<Record<string, string>>): Promise<void> {
  const object = { metadata: { name, labels: { ...labels } }, spec: { hubAcceptsClient: true } };
  await hub.apply(ManagedCluster, object, { fieldManager: FIELD_MANAGER, force: true });
}

/** Waits until the hub has let the spoke in. Throws `FLOTILLA_NOT_ACCEPTED` when it does not within the time, or refuses. */
export async function untilLetIn(hub: Client, name: string, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  const selector = { fieldSelector: `metadata.name=${name}`, signal };
  const verdict = (cluster: ManagedCluster | undefined) => {
    const condition = findCondition(cluster?.status?.conditions, HUB_ACCEPTED);
    // A denial may be of the time before it was accepted again; a name that cannot be is for good.
    if (condition?.reason === 'Error') throw refusal(`the hub refuses ${name}: ${condition.message}`);
    return condition?.status === 'True';
  };
  try {
    // Again and again: a server ends each watch after some minutes.
    while (!signal.aborted) {
      const { items, resourceVersion } = await hub.list(ManagedCluster, selector);
      if (verdict(items[0])) return;
      for await (const event of hub.watch(ManagedCluster, { ...selector, resourceVersion }))
        if (event.type !== 'BOOKMARK' && verdict(event.object)) return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  throw refusal(
    `the hub did not let ${name} in within ${timeoutMs / 1000} s: see that a hub with --standalone (chart value standalone) is running there; on a hub with RHACM import the cluster with RHACM`,
  );
}

const refusal = (message: string): FlotillaError => new FlotillaError('FLOTILLA_NOT_ACCEPTED', message);

const Token = z.object({ status: z.object({ token: z.string().min(1) }) });

/**
 * A token of the spoke's account on the hub. It is bound to the account: whoever denies or deletes the ManagedCluster ends it at
 * once. The server may give it a shorter life than asked for.
 */
export async function requestToken(hub: Client, name: string, seconds: number): Promise<string> {
  const path = `/api/v1/namespaces/${name}/serviceaccounts/${AGENT_ACCOUNT}/token`;
  const answer = await hub.request('POST', path, { body: { spec: { expirationSeconds: Math.round(seconds) } } });
  return Token.parse(answer).status.token;
}
