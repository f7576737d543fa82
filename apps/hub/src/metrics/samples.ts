/** Metrics of the hub: their table, and the fleet as numbers, read from caches at each scrape. */
import { findCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition, PrecacheState } from '@flotilla/api/ran';
import { earliest } from '@flotilla/pace';
import {
  countOverdue,
  countStarved,
  isAvailable,
  isEnding,
  isPrecached,
  isRunning,
  judgeWindow,
  leastLeftMs,
  RecordState,
} from '@flotilla/rollout';
import { type Clock, type Metrics, type MetricTable, type Sample, serveSamples } from '@flotilla/runtime';
import type { HubCaches } from '../caches.ts';
import type { FleetPlaces } from '../limits/places.ts';

const OF_UPGRADE = ['upgrade_namespace', 'upgrade'] as const;

const OF_LIMIT = ['activity', 'label', 'value'] as const;

/** Metrics that every hub process serves. */
export const PROCESS_METRICS = {
  flotilla_queue_up: { help: '1 while the queue store answers', labels: ['store'] },
} as const satisfies MetricTable;

/** Metrics that the leader serves of the fleet. No label names a cluster; upgrades are named while they run, at most MOST_UPGRADES of them. */
export const FLEET_METRICS = {
  flotilla_clusters: { help: 'ManagedClusters by what is known of their agents', labels: ['availability'] },
  flotilla_upgrades: { help: 'ClusterGroupUpgrades by state', labels: ['state'] },
  flotilla_upgrades_overflow: { help: 'Unfinished upgrades that have no series of their own, because there are too many', labels: [] },
  flotilla_upgrade_clusters: { help: 'Clusters of an unfinished upgrade by state of their rollout', labels: [...OF_UPGRADE, 'state'] },
  flotilla_limit_places: {
    help: 'Clusters that may pull, or be upgraded, at a time under a limit of the fleet; label and value are empty for that of all clusters',
    labels: OF_LIMIT,
  },
  flotilla_limit_places_taken: { help: 'Clusters that have a place under that limit', labels: OF_LIMIT },
  flotilla_limit_waiting: { help: 'Clusters that wait for a place', labels: ['activity'] },
  flotilla_upgrade_clusters_away: { help: 'Clusters of an unfinished upgrade whose agents do not answer', labels: OF_UPGRADE },
  flotilla_upgrade_overdue_waits: {
    help: 'Clusters of an unfinished upgrade, and the upgrade as a whole, whose wait is older than the time-out of their batch',
    labels: OF_UPGRADE,
  },
  flotilla_upgrade_starved_clusters: {
    help: 'Clusters of an unfinished upgrade that have waited for a place for longer than a window lasts, or than the time-out without one',
    labels: OF_UPGRADE,
  },
  flotilla_upgrade_paused: { help: '1 while an unfinished upgrade is paused', labels: OF_UPGRADE },
  flotilla_upgrade_batch: { help: 'Batch that is remediated, from 1; 0 before the first', labels: OF_UPGRADE },
  flotilla_upgrade_batches: { help: 'Batches of the plan', labels: OF_UPGRADE },
  flotilla_upgrade_seconds_left: { help: 'Least time that the batches which are left still take, by those before', labels: OF_UPGRADE },
  flotilla_upgrade_window_seconds_left: { help: 'Time until the window closes; 0 after the last one', labels: OF_UPGRADE },
  flotilla_upgrade_precaching_clusters: {
    help: 'Clusters of an unfinished upgrade by state of pre-caching',
    labels: [...OF_UPGRADE, 'state'],
  },
  flotilla_upgrade_precaching_bytes_done: { help: 'Bytes present, over all clusters that reported', labels: OF_UPGRADE },
  flotilla_upgrade_precaching_bytes_total: { help: 'Bytes needed, over all clusters that reported', labels: OF_UPGRADE },
  flotilla_upgrade_oldest_observation_seconds: {
    help: 'Time since a cluster that runs a job was last seen to change, of the one for which that is longest',
    labels: OF_UPGRADE,
  },
} as const satisfies MetricTable;
export type FleetMetric = keyof typeof FLEET_METRICS;

/** Upgrades that have series of their own, so that nobody fills a Prometheus by creating upgrades. */
export const MOST_UPGRADES = 100;

/** Places under limits, by what clusters do. */
type CountedPlaces = Readonly<Record<string, Pick<FleetPlaces['pulling'], 'figures' | 'waiting'>>>;

/** Everything the samples are made from. */
export interface FleetSources {
  readonly upgrades: readonly ClusterGroupUpgrade[];
  readonly clusters: readonly ManagedCluster[];
  readonly cluster: (name: string) => ManagedCluster | undefined;
  /** When the cluster of this upgrade that runs a job, and has been still for longest, was last seen to change, milliseconds since the epoch. */
  readonly oldestObservation: (uid: string) => number | undefined;
  readonly places?: CountedPlaces | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type FleetSample = Sample<FleetMetric>;

/** All samples of the fleet. */
export function fleetSamples(sources: FleetSources): FleetSample[] {
  const unfinished = sources.upgrades.filter((upgrade) => !isEnding(upgrade)).toSorted(byAge);
  const named = unfinished.slice(0, MOST_UPGRADES);
  return [
    ...counted('flotilla_clusters', 'availability', ['available', 'unavailable', 'unknown'], sources.clusters.map(availabilityOf)),
    ...counted('flotilla_upgrades', 'state', UPGRADE_STATES, sources.upgrades.map(upgradeStateOf)),
    { metric: 'flotilla_upgrades_overflow', labels: {}, value: unfinished.length - named.length },
    ...limitSamples(sources.places),
    ...named.flatMap((upgrade) => upgradeSamples(upgrade, sources)),
  ];
}

/** Limits that have series of their own. */
const MOST_LIMITS = 200;

function limitSamples(places: CountedPlaces | undefined): FleetSample[] {
  const all = Object.entries(places ?? {});
  const figures = all.flatMap(([activity, each]) => each.figures().map((figure) => ({ activity, ...figure })));
  return [
    ...figures.slice(0, MOST_LIMITS).flatMap(({ activity, label, value, most, taken }): FleetSample[] => {
      const labels = { activity, label, value };
      return [
        { metric: 'flotilla_limit_places', labels, value: most },
        { metric: 'flotilla_limit_places_taken', labels, value: taken },
      ];
    }),
    ...all.map(([activity, { waiting }]): FleetSample => ({ metric: 'flotilla_limit_waiting', labels: { activity }, value: waiting })),
  ];
}

/** Running ones come first, then older ones, so that a series does not come and go with each new upgrade. */
const byAge = (one: ClusterGroupUpgrade, other: ClusterGroupUpgrade): number =>
  Number(isRunning(other)) - Number(isRunning(one)) || rankOf(one).localeCompare(rankOf(other));
const rankOf = ({ metadata }: ClusterGroupUpgrade): string => `${metadata.creationTimestamp} ${metadata.namespace}/${metadata.name}`;

function availabilityOf({ status }: ManagedCluster): string {
  const condition = findCondition(status?.conditions, CLUSTER_AVAILABLE);
  if (condition?.status === 'True') return 'available';
  return condition?.status === 'False' ? 'unavailable' : 'unknown';
}

const UPGRADE_STATES = ['refused', 'waiting', 'precaching', 'running', 'paused', 'succeeded', 'failed', 'deleting'] as const;

function upgradeStateOf(upgrade: ClusterGroupUpgrade): (typeof UPGRADE_STATES)[number] {
  const is = (type: string) => findCondition(upgrade.status?.conditions, type)?.status;
  const { clustersSelected, validated, precacheSpecValid, succeeded } = ClusterGroupUpgradeCondition;
  if (upgrade.metadata.deletionTimestamp !== undefined) return 'deleting';
  if (isEnding(upgrade)) return is(succeeded) === 'True' ? 'succeeded' : 'failed';
  if (isPaused(upgrade)) return 'paused';
  if (isRunning(upgrade)) return 'running';
  if ([clustersSelected, validated, precacheSpecValid].some((type) => is(type) === 'False')) return 'refused';
  const pulls = upgrade.spec?.preCaching && is(ClusterGroupUpgradeCondition.precachingSucceeded) === 'False';
  return pulls && !isPrecached(upgrade.status ?? {}) ? 'precaching' : 'waiting';
}

const isPaused = ({ status }: ClusterGroupUpgrade): boolean =>
  findCondition(status?.conditions, ClusterGroupUpgradeCondition.paused)?.status === 'True';

/** One sample for each of the values, zero where nothing has it: an absent series would not end an alert. */
function counted(
  metric: FleetMetric,
  label: string,
  values: readonly string[],
  found: readonly string[],
  labels: Readonly<Record<string, string>> = {},
): FleetSample[] {
  const counts = new Map(values.map((value) => [value, 0]));
  for (const value of found) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ metric, labels: { ...labels, [label]: value }, value: count }));
}

function upgradeSamples(upgrade: ClusterGroupUpgrade, { cluster, oldestObservation, now }: FleetSources): FleetSample[] {
  const { namespace = '', name, uid = '' } = upgrade.metadata;
  const labels = { upgrade_namespace: namespace, upgrade: name };
  const { status, remediationPlan = [], precaching } = upgrade.status ?? { status: {} };
  const one = (metric: FleetMetric, value: number | undefined): FleetSample[] => (value === undefined ? [] : [{ metric, labels, value }]);
  const states = clusterStates(upgrade);
  const away = [...states].filter(([each, state]) => !ENDED.has(state) && !isAvailable(cluster(each))).length;
  const seenAt = oldestObservation(uid);
  return [
    ...counted('flotilla_upgrade_clusters', 'state', CLUSTER_STATES, [...states.values()], labels),
    ...one('flotilla_upgrade_clusters_away', away),
    ...one('flotilla_upgrade_overdue_waits', countOverdue(upgrade, now)),
    ...one('flotilla_upgrade_starved_clusters', countStarved(upgrade, now)),
    ...one('flotilla_upgrade_paused', Number(isPaused(upgrade))),
    ...one('flotilla_upgrade_batch', status.currentBatch ?? 0),
    ...one('flotilla_upgrade_batches', remediationPlan.length),
    ...one('flotilla_upgrade_seconds_left', inSeconds(leastLeftMs(upgrade, now))),
    ...one('flotilla_upgrade_window_seconds_left', windowSecondsLeft(upgrade, now)),
    ...(precaching?.status
      ? counted('flotilla_upgrade_precaching_clusters', 'state', PrecacheState.options, Object.values(precaching.status), labels)
      : []),
    ...one('flotilla_upgrade_precaching_bytes_done', precaching?.summary?.bytesDone),
    ...one('flotilla_upgrade_precaching_bytes_total', precaching?.summary?.bytesTotal),
    ...one('flotilla_upgrade_oldest_observation_seconds', seenAt === undefined ? undefined : inSeconds(Math.max(now - seenAt, 0))),
  ];
}

const inSeconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);

const CLUSTER_STATES = ['waiting', 'in_progress', RecordState.complete, RecordState.timedOut, RecordState.failed] as const;
const ENDED: ReadonlySet<string> = new Set(Object.values(RecordState));

/** Each cluster of the plan, and each that has left it with a verdict. */
function clusterStates(upgrade: ClusterGroupUpgrade): ReadonlyMap<string, string> {
  const { remediationPlan = [], clusters = [], status } = upgrade.status ?? { status: {} };
  const states = new Map(remediationPlan.flat().map((cluster) => [cluster, 'waiting']));
  const batch = status.currentBatchStartedAt === undefined ? [] : (remediationPlan[(status.currentBatch ?? 0) - 1] ?? []);
  for (const cluster of batch) states.set(cluster, 'in_progress');
  for (const { name, state } of clusters) states.set(name, state);
  return states;
}

/** Undefined while no window closes, or the next one is yet to open. */
function windowSecondsLeft(upgrade: ClusterGroupUpgrade, now: number): number | undefined {
  const window = judgeWindow(upgrade, now);
  if (window.kind === 'open') return window.closesAt === undefined ? undefined : inSeconds(window.closesAt - now);
  return window.kind === 'closed' && window.opensAt === undefined ? 0 : undefined;
}

/** Sources of the fleet's metrics. */
interface FleetMetricsOptions {
  readonly metrics: Metrics;
  readonly caches: Pick<HubCaches, 'upgrades' | 'clusters'>;
  readonly places: CountedPlaces | undefined;
  readonly jobs: readonly { stillSince(uid: string): number | undefined }[];
  readonly clock: Clock;
}

/** Serves the fleet's metrics while this process leads, so that no two hubs tell of one upgrade. */
export function serveFleetMetrics({ metrics, caches, jobs, places, clock }: FleetMetricsOptions): Disposable {
  return serveSamples(metrics, FLEET_METRICS, () =>
    fleetSamples({
      upgrades: caches.upgrades.list(),
      clusters: caches.clusters.list(),
      cluster: (name) => caches.clusters.get({ name }),
      oldestObservation: (uid) => earliest(...jobs.map((job) => job.stillSince(uid))),
      places,
      now: clock.now(),
    }),
  );
}
