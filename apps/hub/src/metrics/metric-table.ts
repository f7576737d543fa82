import type { MetricTable } from '@flotilla/runtime';

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
