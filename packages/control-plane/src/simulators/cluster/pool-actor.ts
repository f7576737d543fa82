import { Node } from '@flotilla/api/core';
import { MachineConfigAnnotation, MachineConfigPool, MachineConfigState } from '@flotilla/api/machine';
import type { ReconcileResult } from '@flotilla/runtime';
import type { ActorDeps, Drain } from './actor.ts';
import { annotationsOf, cordon, drain, finishNode, unlessGone } from './nodes.ts';

/** Name of what a version configures for a pool. */
export const renderedConfig = (pool: string, version: string): string => `rendered-${pool}-${version}`;

const SOON_MS = 10 * 60_000;

/**
 * Plays the machine config operator on one pool, and the daemon of each of its nodes: once a version is applied, they get the version's configuration
 * one after another, each cordoned and drained before.
 */
export async function playPool(deps: ActorDeps, name: string): Promise<ReconcileResult> {
  const { client, caches, clock, pace } = deps;
  const pool = caches.pools.get({ name });
  const latest = caches.versions.get({ name: 'version' })?.status?.history?.find(({ state }) => state === 'Completed');
  if (!pool || !latest || pool.spec?.paused) return {};
  const wanted = renderedConfig(name, latest.version);
  if (pool.spec?.configuration?.name !== wanted) {
    if (clock.now() - Date.parse(latest.completionTime ?? '') < pace.poolMs) return { requeueAfterMs: pace.lookAgainMs };
    await client.patch(MachineConfigPool, { name }, { spec: { configuration: { name: wanted } } }, { type: 'merge' });
    return { requeueAfterMs: pace.lookAgainMs };
  }
  const nodes = caches.nodes.list().filter(({ metadata }) => metadata.labels?.[`node-role.kubernetes.io/${name}`] !== undefined);
  const old = nodes.filter((node) => saysOf(node, 'current') !== wanted).toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  await report(deps, pool, nodes.length, nodes.length - old.length, wanted);
  const [next] = old;
  if (!next) return {};
  await change(deps, next, wanted);
  return { requeueAfterMs: pace.lookAgainMs };
}

const saysOf = ({ metadata }: Node, fact: keyof typeof MachineConfigAnnotation): string | undefined =>
  metadata.annotations?.[MachineConfigAnnotation[fact]];

async function report({ client }: ActorDeps, pool: MachineConfigPool, machineCount: number, updatedMachineCount: number, wanted: string) {
  const { status, metadata } = pool;
  const had = status?.configuration?.name;
  const has = machineCount === updatedMachineCount ? wanted : had;
  if (status?.machineCount === machineCount && status.updatedMachineCount === updatedMachineCount && had === has) return;
  const next = { machineCount, updatedMachineCount, ...(has !== undefined && { configuration: { name: has } }) };
  await client.patch(MachineConfigPool, { name: metadata.name }, { status: next }, { type: 'merge', subresource: 'status' });
}

/** One look at the node that is being changed: it is told what it shall have, its daemon sets to work, and it is cordoned, drained and changed. */
async function change(deps: ActorDeps, node: Node, wanted: string): Promise<void> {
  const { client, clock, pace, drains, faults } = deps;
  const { name, uid = '' } = node.metadata;
  const say = (facts: Parameters<typeof annotationsOf>[0]) =>
    client.patch(Node, { name }, { metadata: { annotations: annotationsOf(facts) } }, { type: 'merge' }).catch(unlessGone);
  const state = saysOf(node, 'state');
  if (saysOf(node, 'desired') !== wanted) return void (await say({ desired: wanted }));
  // One that gave a drain up stays Degraded until it is done.
  if (state === MachineConfigState.done) return void (await say({ state: MachineConfigState.working }));
  const known = drains.get(uid) ?? { since: clock.now(), againAt: 0 };
  drains.set(uid, known);
  if (!node.spec?.unschedulable) return cordon(client, node, clock.now()).catch(unlessGone);
  if (faults().nodesHeld || !(await isDrained(deps, name, known))) {
    if (state === MachineConfigState.working && clock.now() - known.since >= pace.drainMs)
      await say({ state: MachineConfigState.degraded, reason: `failed to drain node: ${name} after 1 hour` });
    return;
  }
  known.drainedAt ??= clock.now();
  if (clock.now() - known.drainedAt < pace.nodeMs) return;
  drains.delete(uid);
  await finishNode(client, node, wanted).catch(unlessGone);
}

/** Tries to drain it, unless that was tried a moment ago; from then on it is known to be drained. */
async function isDrained({ client, clock, pace }: ActorDeps, name: string, known: Drain): Promise<boolean> {
  if (known.drainedAt !== undefined) return true;
  if (clock.now() < known.againAt) return false;
  if (await drain(client, name)) return true;
  const [soon, later] = pace.drainAgainMs;
  known.againAt = clock.now() + (clock.now() - known.since < SOON_MS ? soon : later);
  return false;
}
