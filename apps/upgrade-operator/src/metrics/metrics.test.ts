import { UpgradeConfig } from '@flotilla/api/managed';
import { serveSamples } from '@flotilla/runtime';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { createOperatorMetrics } from './upgrade-metrics.ts';
import { SERIES_METRICS, upgradeSeries } from './upgrade-series.ts';

const samples = async (registry: Registry) => (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe("the operator's own metrics", () => {
  const create = (clusterId?: string) => {
    const registry = new Registry();
    return { registry, metrics: createOperatorMetrics(registry, () => clusterId) };
  };

  test('have no series before they are set', async () => {
    expect(await samples(create().registry)).toEqual([]);
  });

  test('have the names and labels of the reference', async () => {
    const { registry, metrics } = create('id-1');
    metrics.validationFailed(true);
    metrics.scalingFailed(false);
    metrics.windowBreached(true);
    metrics.controlPlaneTimeout('v', true);
    metrics.workerTimeout('v', false);
    metrics.drainTimeout('node-1', true);
    metrics.notificationFailed('StateStarted', true);
    metrics.notificationSent('StateStarted', 'v');
    metrics.healthCheck({ state: 'New', version: 'v', reason: 'pdb_query_failed' }, true);
    metrics.synced(1_500);
    for (const moment of ['upgrade_started', 'upgrade_completed', 'controlplane_upgrade_started'] as const)
      metrics.moment(moment, 'v', 2_999);
    for (const moment of ['controlplane_upgrade_completed', 'workernode_upgrade_started', 'workernode_upgrade_completed'] as const)
      metrics.moment(moment, 'v', 3_000);
    metrics.result({ precedingVersion: 'u', version: 'v', stream: 'z', alerts: ['A', 'B'] });
    const config = 'upgradeconfig_name="managed-upgrade-config"';
    const ofId = `_id="id-1",${config},version="v"`;
    expect(
      (await samples(registry)).map((line) =>
        line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(',').toSorted().join(',')}}`),
      ),
    ).toEqual([
      `upgradeoperator_upgradeconfig_validation_failed{${config}} 1`,
      `upgradeoperator_scaling_failed{${config}} 0`,
      `upgradeoperator_upgrade_window_breached{${config}} 1`,
      `upgradeoperator_controlplane_timeout{${config},version="v"} 1`,
      `upgradeoperator_worker_timeout{${config},version="v"} 0`,
      `upgradeoperator_healthcheck_failed{reason="pdb_query_failed",state="New",${config},version="v"} 1`,
      'upgradeoperator_node_drain_timeout{node_name="node-1"} 1',
      `upgradeoperator_upgrade_notification{event="StateStarted",${config},version="v"} 1`,
      `upgrade_notification_failed{event="StateStarted",${config}} 1`,
      `upgradeoperator_upgradeconfig_sync_timestamp{${config}} 1`,
      `upgradeoperator_upgrade_started_timestamp{${ofId}} 2`,
      `upgradeoperator_upgrade_completed_timestamp{${ofId}} 2`,
      `upgradeoperator_controlplane_upgrade_started_timestamp{${ofId}} 2`,
      `upgradeoperator_controlplane_upgrade_completed_timestamp{${ofId}} 3`,
      `upgradeoperator_workernode_upgrade_started_timestamp{${ofId}} 3`,
      `upgradeoperator_workernode_upgrade_completed_timestamp{${ofId}} 3`,
      `upgradeoperator_upgrade_result{B",alerts="A,preceding_version="u",stream="z",${config},version="v"} 0`,
    ]);
  });

  test('a cluster that does not say its id is unknown', async () => {
    const { registry, metrics } = create();
    metrics.moment('upgrade_started', 'v', 1_000);
    expect((await samples(registry))[0]).toContain('_id="unknown"');
  });

  test('reset what belongs to a failed upgrade, and to an UpgradeConfig that is gone', async () => {
    const { registry, metrics } = create('id');
    const setAll = () => {
      metrics.validationFailed(true);
      metrics.windowBreached(true);
      metrics.drainTimeout('n', true);
      metrics.moment('upgrade_started', 'v', 1);
      metrics.moment('controlplane_upgrade_started', 'v', 1);
      metrics.synced(1);
      metrics.result({ precedingVersion: 'u', version: 'v', stream: 'y', alerts: [] });
    };
    const names = async () => (await samples(registry)).map((line) => line.replace(/\{.*/, ''));
    setAll();
    metrics.resetFailed();
    expect(await names()).toEqual([
      'upgradeoperator_upgrade_window_breached',
      'upgradeoperator_upgradeconfig_sync_timestamp',
      'upgradeoperator_controlplane_upgrade_started_timestamp',
      'upgradeoperator_upgrade_result',
    ]);
    setAll();
    metrics.resetAll();
    expect(await names()).toEqual(['upgradeoperator_upgrade_result']);
  });

  test('one result stands at a time', async () => {
    const { registry, metrics } = create();
    metrics.result({ precedingVersion: 'u', version: 'v', stream: 'y', alerts: ['A'] });
    metrics.result({ precedingVersion: 'v', version: 'w', stream: 'z', alerts: [] });
    expect(await samples(registry)).toHaveLength(1);
  });
});

describe('the second endpoint', () => {
  const upgradeConfig = (history: object[]) =>
    UpgradeConfig.schema.parse({
      metadata: { name: 'managed-upgrade-config' },
      spec: { type: 'OSD', upgradeAt: '1970-01-01T00:01:00Z', PDBForceDrainTimeout: 30, desired: { version: 'v2', channel: 'c' } },
      status: { history },
    });
  const entry = {
    version: 'v2',
    phase: 'Upgrading',
    startTime: '1970-01-01T00:02:00Z',
    conditions: [
      { type: 'ClusterHealthyBeforeUpgrade', status: 'False', startTime: '1970-01-01T00:03:00Z' },
      { type: 'StartedNotificationSent', status: 'True', startTime: '1970-01-01T00:02:00Z', completeTime: '1970-01-01T00:04:00Z' },
      { type: 'IsClusterUpgradable', status: 'True', completeTime: '1970-01-01T00:04:00Z' },
    ],
  };

  test('shows times of the upgrade and of its conditions', () => {
    const labels = { version: 'v1', desired_version: 'v2' };
    const condition = (status: string) => ({ upgradeconfig_name: 'managed-upgrade-config', ...labels, condition: status });
    expect(upgradeSeries({ upgradeConfig: upgradeConfig([entry]), completed: ['v1', 'v0'] })).toEqual([
      { metric: 'managed_upgrade_upgrade_scheduled', labels: { ...labels, phase: 'Upgrading' }, value: 60 },
      { metric: 'managed_upgrade_upgrade_start_timestamp', labels: { ...labels, phase: 'Upgrading' }, value: 120 },
      { metric: 'managed_upgrade_condition_health_check_timestamp', labels: condition('False'), value: 180 },
      { metric: 'managed_upgrade_condition_notification_start_timestamp', labels: condition('True'), value: 240 },
      { metric: 'managed_upgrade_upgrade_pdb_timeout_minutes', labels, value: 30 },
    ]);
  });

  test('names the version before, once the new one runs', () => {
    const done = { ...entry, phase: 'Upgraded', completeTime: '1970-01-01T00:05:00Z' };
    const series = upgradeSeries({ upgradeConfig: upgradeConfig([done]), completed: ['v2', 'v1', 'v0'] });
    expect(new Set(series.map(({ labels }) => labels.version))).toEqual(new Set(['v1']));
  });

  test.each([
    { name: 'no UpgradeConfig', input: { upgradeConfig: undefined, completed: ['v1'] } },
    { name: 'no history', input: { upgradeConfig: upgradeConfig([]), completed: ['v1'] } },
    { name: 'a history of another version', input: { upgradeConfig: upgradeConfig([{ ...entry, version: 'v3' }]), completed: ['v1'] } },
    { name: 'a cluster that has no version', input: { upgradeConfig: upgradeConfig([entry]), completed: [] } },
  ])('is empty with $name', ({ input }) => expect(upgradeSeries(input)).toEqual([]));

  test('is a scrape of every metric that has a value, and forgets what has gone', async () => {
    const registry = new Registry();
    let history: object[] = [];
    serveSamples({ registry }, SERIES_METRICS, () => upgradeSeries({ upgradeConfig: upgradeConfig(history), completed: ['v1'] }));
    expect(await samples(registry)).toEqual([]);
    history = [entry];
    expect(await samples(registry)).toHaveLength(5);
    expect((await samples(registry))[0]).toBe('managed_upgrade_upgrade_scheduled{version="v1",desired_version="v2",phase="Upgrading"} 60');
    history = [{ ...entry, phase: 'Failed', conditions: [] }];
    expect((await samples(registry)).every((line) => !line.includes('Upgrading'))).toBe(true);
    history = [];
    expect(await samples(registry)).toEqual([]);
  });

  test('has a metric for each of fourteen conditions', () => {
    expect(Object.keys(SERIES_METRICS).filter((name) => name.startsWith('managed_upgrade_condition_'))).toHaveLength(14);
  });
});
