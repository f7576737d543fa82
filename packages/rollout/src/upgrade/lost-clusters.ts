/** Clusters of an upgrade that did not get to its end, by its stored status. Pure. */
import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { type ClusterRecord, RecordState } from './model.ts';

/**
 * Finds the clusters that failed, and those that timed out for good.
 * @param gotThere a cluster whose batch timed out was seen done since; default: each was in policy mode, where a success says so
 */
export function lostClusters(status: ClusterGroupUpgradeStatus, gotThere: (record: ClusterRecord) => boolean = byPolicy): ClusterRecord[] {
  const { clusters = [] } = status;
  const known = new Set(clusters.map(({ name }) => name));
  const dropped = droppedByJobs(status).filter((name) => !known.has(name));
  const lost = clusters.filter(
    (record) => record.state === RecordState.failed || (record.state === RecordState.timedOut && !gotThere(record)),
  );
  return [...lost, ...dropped.map((name) => ({ name, state: RecordState.failed }))];
}

const byPolicy = ({ currentManifestWork }: ClusterRecord): boolean => currentManifestWork === undefined;

/** The reference makes no record of a cluster that failed pre-caching or its backup: the states of the jobs tell. */
function droppedByJobs({ conditions, precaching, backup }: ClusterGroupUpgradeStatus): string[] {
  const isPartly = (type: string) => findCondition(conditions, type)?.reason === 'PartiallyDone';
  const failedIn = (states: Readonly<Record<string, string>> = {}) =>
    Object.entries(states).flatMap(([name, state]) => (state === 'Succeeded' ? [] : [name]));
  return [
    ...(isPartly(ClusterGroupUpgradeCondition.precachingSucceeded) ? failedIn(precaching?.status) : []),
    ...(isPartly(ClusterGroupUpgradeCondition.backupSucceeded) ? failedIn(backup?.status) : []),
  ];
}

/** Counts the lost clusters among all, and names the first with its cause. */
export function describeLost(
  { clusters = [], remediationPlan = [], status, ...jobs }: ClusterGroupUpgradeStatus,
  lost: readonly ClusterRecord[],
): string {
  const progress = Object.keys(status.currentBatchRemediationProgress ?? {});
  const all = new Set([...clusters, ...lost].map(({ name }) => name));
  for (const name of [...remediationPlan.flat(), ...progress]) all.add(name);
  const [first] = lost;
  const name = first?.name ?? '';
  const why = first?.message ?? jobs.precaching?.messages?.[name] ?? jobs.backup?.messages?.[name];
  return `${lost.length} of ${all.size} clusters failed (status.clusters), the first is ${name}${why === undefined ? '' : `: ${why}`}`;
}

/** Describes the clusters that a success left out: the reference calls a part a success. Undefined for a success of all, and for any other end. */
export function describeLeftOut(status: ClusterGroupUpgradeStatus): string | undefined {
  if (findCondition(status.conditions, ClusterGroupUpgradeCondition.succeeded)?.status !== 'True') return undefined;
  const lost = lostClusters(status);
  return lost.length > 0 ? describeLost(status, lost) : undefined;
}
