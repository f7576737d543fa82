import type { Node } from '@flotilla/api/core';
import { MACHINE_CONFIG_STATE, MachineConfigPool } from '@flotilla/api/machine';
import type { ReconcileResult } from '@flotilla/runtime';
import { type ActorDeps, LOOK_AGAIN_MS } from './actor.ts';
import { CURRENT_CONFIG, cordon, drain, finishNode, unlessGone } from './nodes.ts';

/** Name of what a version configures for a pool. */
export const renderedConfig = (pool: string, version: string): string => `rendered-${pool}-${version}`;

/** When a node was found drained, so that changing it takes its time. */
const drainedAt = new Map<string, number>();

/**
 * Plays the machine config operator on one pool: once a version is applied, its nodes get the version's configuration one after another, each
 * cordoned and drained before.
 */
export async function playPool(deps: ActorDeps, name: string): Promise<ReconcileResult> {
  const { client, caches, clock, pace } = deps;
  const pool = caches.pools.get({ name });
  const latest = caches.versions.get({ name: 'version' })?.status?.history?.find(({ state }) => state === 'Completed');
  if (!pool || !latest || pool.spec?.paused) return {};
  const wanted = renderedConfig(name, latest.version);
  if (pool.spec?.configuration?.name !== wanted) {
    if (clock.now() - Date.parse(latest.completionTime ?? '') < pace.poolMs) return { requeueAfterMs: LOOK_AGAIN_MS };
    await client.patch(MachineConfigPool, { name }, { spec: { configuration: { name: wanted } } }, { type: 'merge' });
    return { requeueAfterMs: LOOK_AGAIN_MS };
  }
  const nodes = caches.nodes.list().filter(({ metadata }) => metadata.labels?.[`node-role.kubernetes.io/${name}`] !== undefined);
  const old = nodes.filter((node) => configOf(node) !== wanted).toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  await report(deps, pool, nodes.length, nodes.length - old.length, wanted);
  const [next] = old;
  if (!next) return {};
  await change(deps, next, wanted);
  return { requeueAfterMs: LOOK_AGAIN_MS };
}

const configOf = ({ metadata }: Node): string | undefined => metadata.annotations?.[CURRENT_CONFIG];

async function report({ client }: ActorDeps, pool: MachineConfigPool, machineCount: number, updatedMachineCount: number, wanted: string) {
  const { status, metadata } = pool;
  const had = status?.configuration?.name;
  const has = machineCount === updatedMachineCount ? wanted : had;
  if (status?.machineCount === machineCount && status.updatedMachineCount === updatedMachineCount && had === has) return;
  const next = { machineCount, updatedMachineCount, ...(has !== undefined && { configuration: { name: has } }) };
  await client.patch(MachineConfigPool, { name: metadata.name }, { status: next }, { type: 'merge', subresource: 'status' });
}

/** One look at the node that is being changed. */
async function change({ client, clock, pace, faults }: ActorDeps, node: Node, wanted: string): Promise<void> {
  const { name, uid = '' } = node.metadata;
  if (node.metadata.annotations?.[MACHINE_CONFIG_STATE] !== 'Working')
    return cordon(client, node, clock.now(), 'Working').catch(unlessGone);
  if (faults().nodesHeld || !(await drain(client, name))) return;
  const since = drainedAt.get(uid) ?? clock.now();
  drainedAt.set(uid, since);
  if (clock.now() - since < pace.nodeMs) return;
  drainedAt.delete(uid);
  await finishNode(client, node, wanted).catch(unlessGone);
}
