/** Explains to people why workers are not done. */
import type { Node, Pod, PodDisruptionBudget } from '@flotilla/api/core';
import type { MachineConfigPool } from '@flotilla/api/machine';
import { cordonOf, isBeingConfigured, isControlPlaneNode, isOfNode, protects } from './drain.ts';

const MOST_NODES = 3;
const MOST_PODS = 5;
const MOST_POOLS = 5;
const MOST_HELD = 5;
/** Longest quote of a pool's own message, in characters. */
const LONGEST_MESSAGE = 256;
const LONGEST = 1_500;

/** Finds workers whose drain takes longer than expected, the longest first. */
export function stuckNodes(nodes: readonly Node[], { expectedMinutes, nowMs }: { expectedMinutes: number; nowMs: number }): Node[] {
  const since = (node: Node): number => {
    const cordon = cordonOf(node);
    return cordon === undefined || cordon === 'unknown' ? Number.POSITIVE_INFINITY : cordon.sinceMs;
  };
  return nodes
    .filter((node) => !isControlPlaneNode(node) && isBeingConfigured(node) && since(node) + expectedMinutes * 60_000 < nowMs)
    .toSorted((a, b) => since(a) - since(b));
}

/**
 * Describes the pods that a drain waits for, with their holds; pods with a budget come first.
 * @param pods of one node
 */
export function describeHolders(pods: readonly Pod[], budgets: readonly PodDisruptionBudget[]): string {
  const held = pods.filter(isWaitedFor).map((pod) => {
    const budget = budgets.find((each) => protects(each, pod))?.metadata.name;
    return { name: `${pod.metadata.namespace}/${pod.metadata.name}`, budget, finalizers: finalizersOf(pod) };
  });
  const ranked = held.toSorted((a, b) => Number(b.budget !== undefined) - Number(a.budget !== undefined));
  const shown = ranked.slice(0, MOST_PODS).map(({ name, budget, finalizers }) => {
    const why = [budget && `budget ${budget}`, finalizers && `finalizers ${finalizers}`].filter(Boolean).join(', ');
    return why === '' ? name : `${name} (${why})`;
  });
  if (shown.length === 0) return 'no pod that a drain would take away';
  return `pods ${shown.join(', ')}${ranked.length > MOST_PODS ? ` and ${ranked.length - MOST_PODS} more` : ''}`;
}

/** True for pods that a drain waits for: neither the node's own nor ended ones. */
function isWaitedFor(pod: Pod): boolean {
  if (isOfNode(pod)) return false;
  const { status } = pod;
  const phase = typeof status === 'object' && status !== null && 'phase' in status ? status.phase : undefined;
  return phase !== 'Succeeded' && phase !== 'Failed';
}

const finalizersOf = ({ metadata }: Pod): string | undefined =>
  metadata.deletionTimestamp === undefined || !metadata.finalizers?.length ? undefined : metadata.finalizers.slice(0, 3).join(' ');

/** Finds paused worker pools that lack their configuration. */
const pausedPools = (pools: readonly MachineConfigPool[]): string[] =>
  pools
    .filter(({ metadata, spec, status }) => {
      if (metadata.name === 'master' || spec?.paused !== true || (status?.machineCount ?? 0) === 0) return false;
      return status?.updatedMachineCount !== status?.machineCount || spec.configuration?.name !== status?.configuration?.name;
    })
    .map(({ metadata }) => metadata.name);

/** Lists their names in a bounded text; undefined without any. */
export function describePaused(pools: readonly MachineConfigPool[]): string | undefined {
  const names = pausedPools(pools);
  const more = names.length > MOST_POOLS ? ` and ${names.length - MOST_POOLS} more` : '';
  return names.length === 0 ? undefined : names.slice(0, MOST_POOLS).join(', ') + more;
}

/** Facts about unfinished workers. */
export interface WorkerFacts {
  /** Remaining workers, and the total. */
  readonly progress: string;
  readonly pools: readonly MachineConfigPool[];
  /** Stuck nodes, and what holds each. */
  readonly stuck: readonly { readonly node: Node; readonly holders: string }[];
  /** All nodes; default none. */
  readonly nodes?: readonly Node[];
}

/** Describes all facts in one bounded text, which changes only with them. */
export function describeWorkers({ progress, pools, stuck, nodes: all = [] }: WorkerFacts): string {
  const nodes = stuck
    .slice(0, MOST_NODES)
    .map(({ node, holders }) => `node ${node.metadata.name} is not drained${sinceOf(node)}: ${holders}`);
  const others = stuck.length > MOST_NODES ? [`${stuck.length - MOST_NODES} more nodes are not drained`] : [];
  const named = new Set(stuck.map(({ node }) => node.metadata.name));
  const held = describeHeld(all.filter(({ metadata }) => !named.has(metadata.name)));
  const degraded = pools.filter(isDegraded).slice(0, MOST_POOLS).map(describeDegraded);
  const paused = describePaused(pools);
  const waiting = paused === undefined ? [] : [`paused machine config pools are not waited for: ${paused}`];
  const text = [progress, ...nodes, ...others, ...held, ...degraded, ...waiting].join('; ');
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/** Workers that their pool counts as unavailable for another reason than its own change: a pool that has enough of them begins no other. */
function describeHeld(nodes: readonly Node[]): string[] {
  const held = nodes.flatMap((node) => {
    const why = isControlPlaneNode(node) ? undefined : heldBy(node);
    return why === undefined ? [] : [`node ${node.metadata.name} ${why}`];
  });
  return held.length > MOST_HELD ? [...held.slice(0, MOST_HELD), `${held.length - MOST_HELD} more nodes are cordoned or not ready`] : held;
}

function heldBy(node: Node): string | undefined {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready && ready.status !== 'True') return `is not ready${quoted(ready)}`;
  if (node.spec?.unschedulable !== true || isBeingConfigured(node)) return undefined;
  return `is cordoned by somebody${sinceOf(node)}: kubectl uncordon ${node.metadata.name}`;
}

function quoted({ reason, message }: Readonly<Record<string, unknown>>): string {
  const said = [reason, message].filter((text) => typeof text === 'string' && text !== '').join(': ');
  return said === '' ? '' : `: ${said.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').slice(0, LONGEST_MESSAGE)}`;
}

function sinceOf(node: Node): string {
  const cordon = cordonOf(node);
  return cordon === undefined || cordon === 'unknown' ? '' : ` since ${new Date(cordon.sinceMs).toISOString().slice(0, 19)}Z`;
}

const degradedConditions = ({ status }: MachineConfigPool) =>
  (status?.conditions ?? []).filter(({ type, status: is }) => type.endsWith('Degraded') && is === 'True');

const isDegraded = (pool: MachineConfigPool): boolean =>
  pool.metadata.name !== 'master' && (degradedConditions(pool).length > 0 || (pool.status?.degradedMachineCount ?? 0) > 0);

function describeDegraded(pool: MachineConfigPool): string {
  const count = pool.status?.degradedMachineCount ?? 0;
  // Condition Degraded sums up the others without their messages.
  const said = degradedConditions(pool)
    .map(({ message = '' }) => message.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim())
    .find((message) => message !== '');
  const machines = count > 0 ? ` (${count} machines)` : '';
  return `machine config pool ${pool.metadata.name} is degraded${machines}${said === undefined ? '' : `: ${said.slice(0, LONGEST_MESSAGE)}`}`;
}
