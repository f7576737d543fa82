/** What each cluster of a running rollout waits for, and how the status says it of thousands. Pure. */

import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { GateName } from '../gates/gates.ts';
import type { RolloutObservation } from '../upgrade/model.ts';
import { indexOf } from './cluster-progress.ts';
import type { ClustersUnderWay } from './clusters-under-way.ts';

/** One thing that clusters wait for, as the status says it. */
export type StatusWait = NonNullable<ClusterGroupUpgradeStatus['waits']>[number];

/** Things that the status names at most, and clusters of each. */
const [MOST_WAITS, MOST_NAMES] = [20, 5];

/**
 * What a pass leaves to wait for, by cluster; clusters that have their record wait for nothing but the end.
 * @param gate the one that keeps the current batch from starting
 * @param left clusters of earlier batches that do not comply at the end
 */
export function waitsOf(
  clusters: ClustersUnderWay,
  observation: RolloutObservation,
  { gate, left }: { readonly gate: GateName | undefined; readonly left: readonly string[] },
): ReadonlyMap<string, string> {
  const waits = new Map<string, string>();
  const current = new Set(clusters.current);
  for (const cluster of new Set([...Object.keys(clusters.progress), ...clusters.plan.flat()])) {
    if (clusters.isRecorded(cluster)) continue;
    const isNow = current.has(cluster) || clusters.progress[cluster] !== undefined;
    waits.set(cluster, isNow && gate ? `gate ${gate}` : waitOf(cluster, clusters, observation, isNow));
  }
  for (const cluster of left) waits.set(cluster, 'all policies, at the last look');
  return waits;
}

function waitOf(cluster: string, clusters: ClustersUnderWay, observation: RolloutObservation, isNow: boolean): string {
  const { mode, isPrepared, isAvailable } = observation;
  const at = nameOf(mode, indexOf(clusters.progress[cluster] ?? {}, mode.kind));
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

/** What most wait for comes first; of each the first clusters are named, in the order of the plan. */
export function summarizeWaits(waits: ReadonlyMap<string, string>): StatusWait[] {
  return [...Map.groupBy(waits, ([, what]) => what)]
    .map(([what, all]) => ({ for: what, clusters: all.length, names: all.slice(0, MOST_NAMES).map(([cluster]) => cluster) }))
    .toSorted((a, b) => b.clusters - a.clusters || (a.for < b.for ? -1 : 1))
    .slice(0, MOST_WAITS);
}
