import { test } from 'vitest';
import { type AlertCase, over, play, renderedRules } from './alert-story.ts';
import { NAMESPACE } from './chart-hub.ts';

/** Beside our own, those that whoever runs the reference operator has silences and runbooks for. */
const ALERTS = [
  'ClusterVersionOperatorDown',
  'ClusterVersionOperatorNoLeader',
  'ClusterVersionUpdateStuck',
  'ClusterVersionReconcileFailing',
  'CannotRetrieveUpdates',
  'UpdateAvailable',
  'ClusterReleaseNotAccepted',
  'ClusterNotUpgradeable',
  'ClusterOperatorDown',
  'ClusterOperatorDegraded',
  'ClusterOperatorFlapping',
  'CannotEvaluateConditionalUpdates',
  'OpenShiftUpdateRiskMightApply',
];

const UPGRADE_ALERTS = [
  'ManagedUpgradeOperatorDown',
  'ManagedUpgradeOperatorNoLeader',
  'ManagedUpgradeReconcileFailing',
  'UpgradeConfigValidationFailedSRE',
  'UpgradeClusterCheckFailedSRE',
  'UpgradeControlPlaneUpgradeTimeoutSRE',
  'UpgradeNodeUpgradeTimeoutSRE',
  'UpgradeNodeDrainFailedSRE',
  'UpgradeNodeScalingFailedSRE',
  'UpgradeConfigSyncFailureOver4HrSRE',
  'ManagedUpgradeGivenUp',
  'ManagedUpgradeOwnersNotTold',
];

const VERSION_OPERATOR = [
  'versionOperator.enabled=true',
  `versionOperator.release=registry.example.com/releases/release@sha256:${'a'.repeat(64)}`,
  'versionOperator.monitoring.enabled=true',
];
const UPGRADE_OPERATOR = ['upgradeOperator.enabled=true', 'upgradeOperator.alerts.enabled=true'];

const condition = (name: string, type: string, reason: string) =>
  `cluster_operator_conditions{name="${name}", condition="${type}", reason="${reason}"}`;
const up = (name: string, reason = 'AsExpected') => `cluster_operator_up{name="${name}", version="1", reason="${reason}"}`;
const retrieved = 'cluster_version_operator_update_retrieval_timestamp_seconds{name=""}';
const recommended =
  'cluster_version_conditional_update_condition_seconds{version="1.2.3", condition="Recommended", status="Unknown", reason="Odd"}';
const applies = 'cluster_version_risk_conditions{condition="Applies", risk="SlowBoats", reason="Matched"}';
const [HOUR, HALF_AN_HOUR, TEN_MINUTES] = [
  { silentAt: '59m', firesAt: '61m', goneAt: '66m' },
  { silentAt: '29m', firesAt: '31m', goneAt: '36m' },
  { silentAt: '9m', firesAt: '11m', goneAt: '16m' },
] as const;
const DEGRADED = { alert: 'ClusterOperatorDegraded', ...HALF_AN_HOUR } as const;
const RISKY = { alert: 'OpenShiftUpdateRiskMightApply', silentAt: '14m', firesAt: '16m', goneAt: '21m' } as const;

const noLeader = (alert: string, job: string, severity: string): AlertCase => ({
  alert,
  about: 'it runs, and another holds the lease',
  series: {
    [`up{job="${job}", namespace="${NAMESPACE}"}`]: '1x60',
    [`flotilla_leader{job="${job}", namespace="${NAMESPACE}", lease="l"}`]: over(10, 0, 1),
  },
  ...TEN_MINUTES,
  labels: { severity },
});
const failing = (alert: string, job: string): AlertCase => ({
  alert,
  about: 'each reconcile throws, and then one succeeds',
  series: {
    [`flotilla_reconcile_seconds_count{job="${job}", namespace="${NAMESPACE}", controller="c", result="retry"}`]: '0+1x100',
    [`flotilla_reconcile_seconds_count{job="${job}", namespace="${NAMESPACE}", controller="c", result="done"}`]: '5x40 6+1x60',
    [`flotilla_reconcile_seconds_count{job="${job}", namespace="${NAMESPACE}", controller="other", result="done"}`]: '0+1x100',
  },
  silentAt: '14m',
  firesAt: '17m',
  goneAt: '22m',
  labels: { severity: 'warning', controller: 'c' },
});

const casesOf = (job: string): readonly AlertCase[] => [
  {
    alert: 'ClusterVersionOperatorDown',
    about: 'the operator does not answer',
    series: { [`up{job="${job}", namespace="${NAMESPACE}"}`]: over(10, 0, 1) },
    ...TEN_MINUTES,
    labels: { severity: 'critical' },
  },
  noLeader('ClusterVersionOperatorNoLeader', job, 'critical'),
  {
    alert: 'ClusterVersionUpdateStuck',
    about: 'manifests wait, and then go on',
    series: { 'cluster_version_payload{version="2", type="pending"}': '900-10x20 700x275 690-10x20' },
    silentAt: '139m',
    firesAt: '142m',
    goneAt: '151m',
    labels: { severity: 'warning', version: '2' },
  },
  failing('ClusterVersionReconcileFailing', job),
  {
    alert: 'CannotRetrieveUpdates',
    about: 'the service was never heard of, and then was',
    series: { [retrieved]: over(60, 0, 3_900), [condition('version', 'RetrievedUpdates', 'RemoteFailed')]: '0x150' },
    ...HOUR,
    labels: { severity: 'warning' },
  },
  {
    alert: 'UpdateAvailable',
    about: 'there are some, and then none',
    series: { 'cluster_version_available_updates{upstream="u", channel="c"}': '0x2 3x4 0x10' },
    silentAt: '1m',
    firesAt: '2m',
    goneAt: '5m',
    labels: { severity: 'info', channel: 'c', upstream: 'u' },
  },
  {
    alert: 'ClusterReleaseNotAccepted',
    about: 'a release is refused',
    series: { [condition('version', 'ReleaseAccepted', 'RetrievePayload')]: over(60, 0, 1) },
    ...HOUR,
    labels: { severity: 'warning', name: 'version', reason: 'RetrievePayload' },
  },
  {
    alert: 'ClusterNotUpgradeable',
    about: 'operators hold it back',
    series: { [condition('version', 'Upgradeable', 'AdminAckRequired')]: over(60, 0, 1) },
    ...HOUR,
    labels: { severity: 'info', name: 'version', condition: 'Upgradeable', reason: 'AdminAckRequired' },
  },
  {
    alert: 'ClusterOperatorDown',
    about: 'one of two is unavailable',
    series: { [up('dns', 'NoPods')]: over(10, 0, 1), [up('etcd')]: '1x60' },
    ...TEN_MINUTES,
    labels: { severity: 'critical', name: 'dns', reason: 'NoPods' },
  },
  {
    ...DEGRADED,
    about: 'one of two says so',
    series: {
      [condition('dns', 'Degraded', 'Broken')]: over(30, 1, 0),
      [up('dns')]: '1x100',
      [condition('etcd', 'Degraded', 'AsExpected')]: '0x100',
      [up('etcd')]: '1x100',
    },
    labels: { severity: 'warning', name: 'dns', reason: 'Broken' },
  },
  {
    ...DEGRADED,
    about: 'the version fails',
    series: { [condition('version', 'Failing', 'UpdatePayloadFailed')]: over(30, 1, 0), [up('version')]: '1x100' },
    labels: { severity: 'warning', name: 'version', reason: 'UpdatePayloadFailed' },
  },
  {
    ...DEGRADED,
    about: 'an operator says nothing of it',
    series: { [up('silent')]: '1x100', [condition('silent', 'Degraded', 'AsExpected')]: `_x65 0x20` },
    labels: { severity: 'warning', name: 'silent' },
  },
  {
    alert: 'ClusterOperatorFlapping',
    about: 'it comes and goes with each scrape, and then stays',
    series: { [up('dns')]: `${'1 0 '.repeat(15)}1x20`, [up('etcd')]: '1x60' },
    silentAt: '10m',
    firesAt: '13m',
    goneAt: '18m',
    labels: { severity: 'warning', name: 'dns' },
  },
  {
    alert: 'CannotEvaluateConditionalUpdates',
    about: 'a risk cannot be judged, and then the update is gone',
    series: { [recommended]: over(60, 0, 'stale') },
    ...HOUR,
    labels: { severity: 'warning', version: '1.2.3', condition: 'Recommended', status: 'Unknown', reason: 'Odd' },
  },
  ...[1, -1].map((value) => ({
    ...RISKY,
    about: value === 1 ? 'a risk applies' : 'a risk may apply',
    series: { [applies]: over(15, value, 0) },
    labels: { severity: 'warning', risk: 'SlowBoats', reason: 'Matched' },
  })),
];

const OF_CONFIG = 'upgradeconfig_name="managed-upgrade-config"';
const pod = `namespace="${NAMESPACE}", pod="p"`;
/** So for as long as the average asks, and then as long as the alert waits. */
const AVERAGED = { silentAt: '9m', firesAt: '21m', goneAt: '26m' } as const;
const gauge = (name: string, labels = '') => `${name}{${OF_CONFIG}, ${labels}${pod}}`;
const ofUpgrade = { upgradeconfig_name: 'managed-upgrade-config' };

const UPGRADE_CASES: readonly AlertCase[] = [
  {
    alert: 'ManagedUpgradeOperatorDown',
    about: 'the operator does not answer',
    series: { [`up{job="managed-upgrade-operator-metrics", namespace="${NAMESPACE}"}`]: over(10, 0, 1) },
    ...TEN_MINUTES,
    labels: { severity: 'warning' },
  },
  noLeader('ManagedUpgradeOperatorNoLeader', 'managed-upgrade-operator-metrics', 'warning'),
  failing('ManagedUpgradeReconcileFailing', 'managed-upgrade-operator-metrics'),
  ...(
    [
      ['UpgradeConfigValidationFailedSRE', gauge('upgradeoperator_upgradeconfig_validation_failed'), 'critical', {}],
      [
        'UpgradeClusterCheckFailedSRE',
        gauge('upgradeoperator_healthcheck_failed', 'state="Upgrading", version="1", reason="critical_alerts_firing", '),
        'critical',
        { state: 'Upgrading', version: '1', reason: 'critical_alerts_firing' },
      ],
      [
        'UpgradeControlPlaneUpgradeTimeoutSRE',
        gauge('upgradeoperator_controlplane_timeout', 'version="2", '),
        'critical',
        { version: '2' },
      ],
      ['UpgradeNodeUpgradeTimeoutSRE', gauge('upgradeoperator_worker_timeout', 'version="2", '), 'critical', { version: '2' }],
      ['UpgradeNodeScalingFailedSRE', gauge('upgradeoperator_scaling_failed'), 'warning', {}],
    ] as const
  ).map(([alert, series, severity, labels]) => ({
    alert,
    about: 'it is so, and then no more',
    series: { [series]: over(20, 1, 0) },
    ...AVERAGED,
    labels: { severity, ...ofUpgrade, ...labels },
  })),
  {
    alert: 'UpgradeClusterCheckFailedSRE',
    about: 'what owners are only told of is no reason',
    series: {
      [gauge('upgradeoperator_healthcheck_failed', 'state="New", version="1", reason="cluster_invalid_pdb", ')]: '1x100',
      [gauge('upgradeoperator_healthcheck_failed', 'state="Upgrading", version="1", reason="cluster_operators_degraded", ')]: over(
        20,
        1,
        0,
      ),
    },
    ...AVERAGED,
    labels: { severity: 'critical', ...ofUpgrade, state: 'Upgrading', version: '1', reason: 'cluster_operators_degraded' },
  },
  {
    alert: 'UpgradeNodeDrainFailedSRE',
    about: 'one of two nodes is late',
    series: {
      [`upgradeoperator_node_drain_timeout{node_name="n1", ${pod}}`]: over(20, 1, 0),
      [`upgradeoperator_node_drain_timeout{node_name="n2", ${pod}}`]: '0x100',
    },
    ...AVERAGED,
    labels: { severity: 'critical', node_name: 'n1' },
  },
  {
    alert: 'UpgradeConfigSyncFailureOver4HrSRE',
    about: 'OCM does not answer, and then does',
    series: { [gauge('upgradeoperator_upgradeconfig_sync_timestamp')]: over(250, 0, 15_000) },
    silentAt: '249m',
    firesAt: '252m',
    goneAt: '256m',
    labels: { severity: 'warning', ...ofUpgrade },
  },
  {
    alert: 'ManagedUpgradeGivenUp',
    about: 'it was, and the next one begins',
    series: { [gauge('upgradeoperator_upgrade_window_breached')]: over(10, 1, 0) },
    ...TEN_MINUTES,
    labels: { severity: 'warning', ...ofUpgrade },
  },
  {
    alert: 'ManagedUpgradeOwnersNotTold',
    about: 'they cannot be told, and then can',
    series: { [gauge('upgrade_notification_failed', 'event="StateStarted", ')]: over(40, 1, 0) },
    silentAt: '29m',
    firesAt: '41m',
    goneAt: '46m',
    labels: { severity: 'warning', ...ofUpgrade, event: 'StateStarted' },
  },
];

test('the alerts of the version operator are known by name; each fires for what it is about, and ends with it', async () => {
  const rules = await renderedRules('spoke', VERSION_OPERATOR);
  await play(rules, ALERTS, casesOf(rules.metadata.name));
});

test('so are those of the upgrade operator, and none has a namespace: it would hold up the upgrade that it is about', async () => {
  const rules = await renderedRules('spoke', UPGRADE_OPERATOR);
  await play(rules, UPGRADE_ALERTS, UPGRADE_CASES);
});
