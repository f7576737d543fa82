import { FlotillaError, findCondition } from '@flotilla/api';
import { HUB_ACCEPTED, ManagedCluster } from '@flotilla/api/ocm';
import { type Client, pause, systemClock } from '@flotilla/runtime';

/** Field manager of what the command writes, on hub and spoke. */
export const FIELD_MANAGER = 'flotilla-cli';

/** Between the end of one watch and the next list. */
const LOOK_AGAIN_MS = 500;

/** Creates the ManagedCluster, or accepts the one that is there; its other fields and labels stay as they are. */
export async function acceptCluster(hub: Client, name: string, labels: Readonly<Record<string, string>>): Promise<void> {
  const object = { metadata: { name, labels: { ...labels } }, spec: { hubAcceptsClient: true } };
  await hub.apply(ManagedCluster, object, { fieldManager: FIELD_MANAGER, force: true });
}

/** Waits until the hub has let the spoke in. Throws `FLOTILLA_NOT_ACCEPTED` when it does not within the time, or refuses. */
export async function untilLetIn(hub: Pick<Client, 'list' | 'watch'>, name: string, timeoutMs: number): Promise<void> {
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
      await pause(systemClock, LOOK_AGAIN_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  throw refusal(
    `the hub did not let ${name} in within ${timeoutMs / 1000} s: see that a hub with --standalone (chart value standalone) is running there; on a hub with RHACM import the cluster with RHACM`,
  );
}

const refusal = (message: string): FlotillaError => new FlotillaError('FLOTILLA_NOT_ACCEPTED', message);
