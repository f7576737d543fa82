import { test } from 'vitest';
import { type AlertCase, over, play, renderedRules } from './alert-story.ts';
import { NAMESPACE } from './chart-hub.ts';

const JOB = 'hub-flotilla-hub';
/** A series of a pod of the hub. */
const series = (name: string, labels = '', pod = 'hub-1') =>
  `${name}{job="${JOB}", namespace="${NAMESPACE}", pod="${pod}"${labels && `, ${labels}`}}`;
const UPGRADE = 'upgrade_namespace="edge", upgrade="july"';
const ofUpgrade = (name: string, labels = '') => series(name, labels ? `${UPGRADE}, ${labels}` : UPGRADE);
const named = { upgrade_namespace: 'edge', upgrade: 'july' };
const reconciles = (controller: string, result: string) =>
  series('flotilla_reconcile_seconds_count', `controller="${controller}", result="${result}"`);

const [FIVE, QUARTER] = [
  { silentAt: '4m', firesAt: '6m', goneAt: '11m' },
  { silentAt: '14m', firesAt: '16m', goneAt: '21m' },
] as const;

const CASES: readonly AlertCase[] = [
  {
    alert: 'FlotillaNoLeader',
    about: 'both hubs run, and none leads for a while',
    series: {
      [series('flotilla_leader', 'lease="flotilla/hub"')]: over(5, 0, 1),
      [series('flotilla_leader', 'lease="flotilla/hub"', 'hub-2')]: '0x60',
    },
    ...FIVE,
    labels: { severity: 'critical' },
  },
  {
    alert: 'FlotillaNoLeader',
    about: 'no hub runs at all, and then one does',
    series: { [series('flotilla_leader', 'lease="flotilla/hub"')]: '_x15 1x60' },
    ...FIVE,
    labels: { severity: 'critical' },
  },
  {
    alert: 'FlotillaQueueAway',
    about: 'one of two pods does not reach it',
    series: {
      [series('flotilla_queue_up', 'store="redis"')]: over(5, 0, 1),
      [series('flotilla_queue_up', 'store="redis"', 'hub-2')]: '1x60',
    },
    ...FIVE,
    labels: { severity: 'warning', pod: 'hub-1' },
  },
  {
    alert: 'FlotillaHubStuck',
    about: 'keys wait and none is done, and then some are',
    series: {
      [series('flotilla_queue_depth', 'queue="cluster-group-upgrade"')]: '3x100',
      [reconciles('cluster-group-upgrade', 'done')]: '5x40 6+1x60',
    },
    ...QUARTER,
    goneAt: '22m',
    labels: { severity: 'critical' },
  },
  {
    alert: 'FlotillaReconcileFailing',
    about: 'those of one controller throw, and then one succeeds',
    series: {
      [reconciles('precache', 'retry')]: '0+1x100',
      [reconciles('precache', 'done')]: '5x40 6+1x60',
      [reconciles('cluster-group-upgrade', 'done')]: '0+1x100',
      [reconciles('cluster-group-upgrade', 'retry')]: '0+1x100',
    },
    silentAt: '14m',
    firesAt: '17m',
    goneAt: '22m',
    labels: { severity: 'warning', controller: 'precache' },
  },
  {
    alert: 'FlotillaAgentsSilent',
    about: 'three of twenty are away, and then one',
    series: {
      [series('flotilla_clusters', 'availability="available"')]: '17x25 19x30',
      [series('flotilla_clusters', 'availability="unavailable"')]: '1x60',
      [series('flotilla_clusters', 'availability="unknown"')]: '2x25 0x30',
    },
    silentAt: '9m',
    firesAt: '11m',
    goneAt: '16m',
    labels: { severity: 'warning' },
  },
  {
    alert: 'FlotillaUpgradeAgentsSilent',
    about: 'clusters of one upgrade are away, and come back',
    series: {
      [ofUpgrade('flotilla_upgrade_clusters_away')]: over(15, 2, 0),
      [series('flotilla_upgrade_clusters_away', 'upgrade_namespace="edge", upgrade="other"')]: '0x60',
    },
    ...QUARTER,
    labels: { severity: 'warning', ...named },
  },
  {
    alert: 'FlotillaUpgradeStuck',
    about: 'clusters of a batch stay where they are, and then one is done',
    series: {
      [ofUpgrade('flotilla_upgrade_clusters', 'state="in_progress"')]: '4x250 3x20',
      [ofUpgrade('flotilla_upgrade_clusters', 'state="complete"')]: '0x250 1x20',
    },
    silentAt: '119m',
    firesAt: '121m',
    goneAt: '127m',
    labels: { severity: 'warning', ...named },
  },
  {
    alert: 'FlotillaUpgradeStuck',
    about: 'of four upgrades one gets on, one waits for its window and one is paused: none of these is meant',
    series: {
      [ofUpgrade('flotilla_upgrade_clusters', 'state="in_progress"')]: '4x250 0x20',
      [series('flotilla_upgrade_clusters', 'upgrade_namespace="edge", upgrade="moves", state="in_progress"')]: '300-1x270',
      [series('flotilla_upgrade_clusters', 'upgrade_namespace="edge", upgrade="waits", state="in_progress"')]: '0x270',
      [series('flotilla_upgrade_clusters', 'upgrade_namespace="edge", upgrade="paused", state="in_progress"')]: '4x270',
      [series('flotilla_upgrade_paused', 'upgrade_namespace="edge", upgrade="paused"')]: '1x270',
    },
    silentAt: '119m',
    firesAt: '121m',
    goneAt: '127m',
    labels: { severity: 'warning', ...named },
  },
  {
    alert: 'FlotillaUpgradeWaitOverdue',
    about: 'two clusters wait beyond the time-out of their batch, and then go on',
    series: {
      [ofUpgrade('flotilla_upgrade_overdue_waits')]: over(10, 2, 0),
      [series('flotilla_upgrade_overdue_waits', 'upgrade_namespace="edge", upgrade="in-time"')]: '0x60',
    },
    silentAt: '9m',
    firesAt: '11m',
    goneAt: '16m',
    labels: { severity: 'warning', ...named },
  },
  {
    alert: 'FlotillaUpgradeStarved',
    about: 'two clusters have no place for too long, and then have one',
    series: {
      [ofUpgrade('flotilla_upgrade_starved_clusters')]: over(10, 2, 0),
      [series('flotilla_upgrade_starved_clusters', 'upgrade_namespace="edge", upgrade="in-time"')]: '0x60',
    },
    silentAt: '9m',
    firesAt: '11m',
    goneAt: '16m',
    labels: { severity: 'warning', ...named },
  },
  {
    alert: 'FlotillaPrecachingStuck',
    about: 'a cluster is silent for half an hour, and then is seen',
    series: { [ofUpgrade('flotilla_upgrade_oldest_observation_seconds')]: '0+30x75 0x20' },
    silentAt: '34m',
    firesAt: '36m',
    goneAt: '38m',
    labels: { severity: 'warning', ...named },
  },
  {
    alert: 'FlotillaUpgradeFailing',
    about: 'clusters fail, until the upgrade has ended',
    series: {
      [ofUpgrade('flotilla_upgrade_clusters', 'state="failed"')]: '0x2 1x10 stale',
      [ofUpgrade('flotilla_upgrade_clusters', 'state="timedout"')]: '0x2 2x10 stale',
      [ofUpgrade('flotilla_upgrade_clusters', 'state="complete"')]: '0x2 5x10 stale',
    },
    silentAt: '1m',
    firesAt: '3m',
    goneAt: '8m',
    labels: { severity: 'warning', ...named },
  },
  {
    alert: 'FlotillaUpgradeRefused',
    about: 'one is, and then is corrected',
    series: { [series('flotilla_upgrades', 'state="refused"')]: over(15, 1, 0), [series('flotilla_upgrades', 'state="running"')]: '2x60' },
    ...QUARTER,
    labels: { severity: 'warning' },
  },
  {
    alert: 'FlotillaWindowTooShort',
    about: 'an hour is needed and less is left, and then the window is longer',
    series: {
      [ofUpgrade('flotilla_upgrade_seconds_left')]: '3600x60',
      [ofUpgrade('flotilla_upgrade_window_seconds_left')]: '3000x15 7200x20',
      [series('flotilla_upgrade_seconds_left', 'upgrade_namespace="edge", upgrade="always"')]: '3600x60',
    },
    ...FIVE,
    labels: { severity: 'warning', ...named },
  },
  {
    alert: 'FlotillaUpgradesOverflow',
    about: 'there are too many, and then some have ended',
    series: { [series('flotilla_upgrades_overflow')]: over(15, 7, 0) },
    ...QUARTER,
    labels: { severity: 'info' },
  },
];

const ALERTS = [
  'FlotillaNoLeader',
  'FlotillaQueueAway',
  'FlotillaHubStuck',
  'FlotillaReconcileFailing',
  'FlotillaAgentsSilent',
  'FlotillaUpgradeAgentsSilent',
  'FlotillaUpgradeStuck',
  'FlotillaUpgradeWaitOverdue',
  'FlotillaUpgradeStarved',
  'FlotillaPrecachingStuck',
  'FlotillaUpgradeFailing',
  'FlotillaUpgradeRefused',
  'FlotillaWindowTooShort',
  'FlotillaUpgradesOverflow',
];

test('each alert of the hub fires for what it is about, and ends with it; none has a namespace or a cluster', async () => {
  await play(await renderedRules('hub', ['alerts.enabled=true']), ALERTS, CASES);
});
