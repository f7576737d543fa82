import { FlotillaError, findCondition } from '@flotilla/api';
import { HUB_ACCEPTED, ManagedCluster } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { follow } from '../hub/follow.ts';

/** Field manager of all writes of the command, on hub and spoke. */
export const FIELD_MANAGER = 'flotilla-cli';

/** The cluster that a hub is asked to let in. */
interface Acceptance {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The hub checks it and stores nothing. */
  readonly dryRun?: boolean;
}

/** Creates or accepts the ManagedCluster; its other fields and labels stay. */
export async function acceptCluster(hub: Client, { name, labels, dryRun }: Acceptance): Promise<void> {
  const object = { metadata: { name, labels: { ...labels } }, spec: { hubAcceptsClient: true } };
  await hub.apply(ManagedCluster, object, { fieldManager: FIELD_MANAGER, force: true, dryRun });
}

/** Waits until the hub accepts the spoke. Throws `FLOTILLA_NOT_ACCEPTED` on a refusal, `FLOTILLA_TIME_UP` when the time is. */
export async function untilLetIn(hub: Pick<Client, 'list' | 'watch'>, name: string, timeoutMs: number): Promise<void> {
  for await (const cluster of follow(hub, ManagedCluster, { name }, AbortSignal.timeout(timeoutMs))) {
    const condition = findCondition(cluster?.status?.conditions, HUB_ACCEPTED);
    // A denial may predate this acceptance, but an impossible name is refused for good.
    if (condition?.reason === 'Error') throw new FlotillaError('FLOTILLA_NOT_ACCEPTED', `the hub refuses ${name}: ${condition.message}`);
    if (condition?.status === 'True') return;
  }
  throw new FlotillaError(
    'FLOTILLA_TIME_UP',
    `the hub did not let ${name} in within ${timeoutMs / 1000} s: see that a hub with --standalone (chart value standalone) is running there; on a hub with RHACM import the cluster with RHACM`,
  );
}
