/** What each cluster of a running rollout waits for, and how the status says it of thousands. Pure. */

import { conditionTime } from '@flotilla/api';
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { GateName } from '../gates/gates.ts';
import type { RolloutObservation } from '../upgrade/model.ts';
import { indexOf } from './cluster-progress.ts';
import type { ClustersUnderWay } from './clusters-under-way.ts';
import { type Drift, firstPending } from './drift.ts';

/** One thing that clusters wait for, as the status says it. */
type StatusWait = NonNullable<ClusterGroupUpgradeStatus['waits']>[number];

/** What one cluster waits for. */
export interface ClusterWait {
  readonly for: string;
  /** Since when, milliseconds since the epoch; told of clusters that fell back. */
  readonly since?: number | undefined;
}

/** Things that the status names at most, and clusters of each. */
const [MOST_WAITS, MOST_NAMES] = [20, 5];

/** What a pass leaves undone. */
interface Undone {
  /** The gate that keeps the current batch from starting. */
  readonly gate: GateName | undefined;
  /** Clusters that do not comply at the end. */
  readonly left: readonly string[];
  /** Clusters that fell back and are not enforced again yet. */
  readonly drift: readonly Drift[];
}

/** What a pass leaves to wait for, by cluster; clusters that have their record wait for nothing but the end, unless they fell back. */
export function waitsOf(
  clusters: ClustersUnderWay,
  observation: RolloutObservation,
  { gate, left, drift }: Undone,
): ReadonlyMap<string, ClusterWait> {
  const { mode } = observation;
  const waits = new Map<string, ClusterWait>();
  const current = new Set(clusters.current);
  for (const cluster of new Set([...Object.keys(clusters.progress), ...clusters.plan.flat()])) {
    if (clusters.isRecorded(cluster)) continue;
    const isNow = current.has(cluster) || clusters.progress[cluster] !== undefined;
    const since = fallenSince(cluster, clusters, current, observation);
    waits.set(cluster, {
      for: isNow && gate ? `gate ${gate}` : waitOf(cluster, clusters, observation, { isNow, isAgain: since !== undefined }),
      since,
    });
  }
  for (const cluster of left) {
    const policy = firstPending(mode, cluster);
    if (clusters.isRecorded(cluster)) waits.set(cluster, { for: `${nameOf(mode, policy ?? 0)}, at the last look` });
  }
  for (const { cluster, policy, since } of drift) waits.set(cluster, { for: `${nameOf(mode, policy)}${AGAIN}`, since });
  return waits;
}

const AGAIN = ', which it complied with before';

/** Of a cluster that is enforced again; one of an earlier batch is, also where this process has not seen it fall back. */
function fallenSince(
  cluster: string,
  clusters: ClustersUnderWay,
  current: ReadonlySet<string>,
  { drift }: RolloutObservation,
): number | undefined {
  if (clusters.batch === 0 || clusters.progress[cluster] === undefined) return undefined;
  return current.has(cluster) ? drift?.known(cluster) : drift?.since(cluster);
}

function waitOf(
  cluster: string,
  clusters: ClustersUnderWay,
  observation: RolloutObservation,
  { isNow, isAgain }: { readonly isNow: boolean; readonly isAgain: boolean },
): string {
  const { mode, isPrepared, isAvailable } = observation;
  const at = `${nameOf(mode, indexOf(clusters.progress[cluster] ?? {}, mode.kind))}${isAgain ? AGAIN : ''}`;
  switch (clusters.stateOf(cluster)) {
    case 'preparing':
      return isPrepared(cluster) ? 'the preparation of other clusters' : 'its edits before the rollout';
    case 'editing':
      return 'its edits after completion';
    case 'soaking':
      return `the soak of ${at}`;
    case 'remediating':
      return isAvailable?.(cluster) === false ? `${at}, while the cluster is not available` : at;
    case 'waiting':
    case 'complete':
    case 'timedOut':
    case 'failed':
      return isNow ? 'leave to begin' : 'its batch';
  }
}

const nameOf = ({ kind, name }: RolloutObservation['mode'], index: number): string =>
  kind === 'policy' ? `policy ${name(index)}` : `ManifestWork ${name(index)}`;

/**
 * What most wait for comes first; of each the first clusters are named, in the order of the plan.
 * @param before what was stored: it knows longer since when than a process that has just begun
 */
export function summarizeWaits(waits: ReadonlyMap<string, ClusterWait>, before: readonly StatusWait[] = []): StatusWait[] {
  return [...Map.groupBy(waits, ([, wait]) => wait.for)]
    .map(([what, all]) => {
      const since = earliest([
        ...all.flatMap(([, wait]) => wait.since ?? []),
        ...before.flatMap((each) => (each.for === what && each.since !== undefined ? Date.parse(each.since) : [])),
      ]);
      const names = all.slice(0, MOST_NAMES).map(([cluster]) => cluster);
      return { for: what, clusters: all.length, names, ...(since !== undefined && { since: conditionTime(since) }) };
    })
    .toSorted((a, b) => b.clusters - a.clusters || (a.for < b.for ? -1 : 1))
    .slice(0, MOST_WAITS);
}

const earliest = (times: readonly number[]): number | undefined => {
  const known = times.filter((time) => Number.isFinite(time));
  return known.length > 0 ? Math.min(...known) : undefined;
};
