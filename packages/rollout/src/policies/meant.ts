/** For which clusters each policy is meant, as seen from the start of a rollout on: the status remembers what may be gone later. Pure. */
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { Meant, RolloutMode } from '../upgrade/model.ts';

/** Clusters for which not all policies are known to be meant, alike ones together. */
type Groups = NonNullable<ClusterGroupUpgradeStatus['policyReach']>;

/** Groups the clusters; those for which all policies are meant are in no group. @param count number of policies */
export function groupMeant(clusters: Iterable<string>, count: number, meant: (cluster: string, index: number) => Meant): Groups {
  const groups = new Map<string, Groups[number]>();
  for (const cluster of clusters) {
    const seen = Array.from({ length: count }, (_, index) => meant(cluster, index));
    if (seen.every((each) => each === 'meant')) continue;
    const key = seen.join();
    const indexes = (of: Meant) => seen.flatMap((each, index) => (each === of ? [index] : []));
    const group = groups.get(key) ?? { clusters: [], meant: indexes('meant'), notMeant: indexes('notMeant') };
    groups.set(key, group);
    group.clusters.push(cluster);
  }
  return [...groups.values()];
}

/**
 * Reads what was seen; of clusters that are in no batch it says nothing. Without that field, as an API server with others' definitions leaves it, the
 * policy that a cluster is at was meant for it.
 */
export function readMeant({ policyReach, remediationPlan, status }: ClusterGroupUpgradeStatus): (cluster: string, index: number) => Meant {
  if (!policyReach)
    return (cluster, index) => (status.currentBatchRemediationProgress?.[cluster]?.policyIndex === index ? 'meant' : undefined);
  const planned = new Set(remediationPlan?.flat());
  const groupOf = new Map(policyReach.flatMap((group) => group.clusters.map((cluster) => [cluster, group])));
  return (cluster, index) => {
    const group = groupOf.get(cluster);
    if (!group) return planned.has(cluster) ? 'meant' : undefined;
    return group.meant.includes(index) ? 'meant' : group.notMeant.includes(index) ? 'notMeant' : undefined;
  };
}

/** The status with what is seen now of its groups and of clusters that join. */
export function rememberMeant(
  status: ClusterGroupUpgradeStatus,
  { count, meant }: Pick<RolloutMode, 'count' | 'meant'>,
  joining: readonly string[] = [],
): ClusterGroupUpgradeStatus {
  const { policyReach } = status;
  if (!policyReach || !meant || policyReach.length + joining.length === 0) return status;
  const clusters = new Set([...policyReach.flatMap((group) => group.clusters), ...joining]);
  return { ...status, policyReach: groupMeant(clusters, count, meant) };
}
