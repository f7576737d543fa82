import { Annotation } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { createMetrics, serveSamples } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { FLEET_METRICS, type FleetMetric, type FleetSources, fleetSamples, MOST_UPGRADES } from './samples.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();
const condition = (type: string, status: string) => ({ type, status, reason: 'Any', message: '', lastTransitionTime: at(-60) });

const cluster = (name: string, available?: string) =>
  ManagedCluster.schema.parse({
    metadata: { name },
    spec: {},
    status: { conditions: available === undefined ? [] : [condition(CLUSTER_AVAILABLE, available)] },
  });
const upgrade = (name: string, status?: object, spec: object = {}, metadata: object = {}) => ({
  ...buildClusterGroupUpgrade(name, { ...spec }, { creationTimestamp: at(-90), ...metadata }),
  ...(status && { status: ClusterGroupUpgradeStatus.parse(status) }),
});
const RUNNING = {
  conditions: [condition('Progressing', 'True')],
  remediationPlan: [['a'], ['b', 'c'], ['d']],
  clusters: [
    { name: 'a', state: 'complete' },
    { name: 'b', state: 'timedout' },
  ],
  status: { startedAt: at(-30), currentBatch: 2, currentBatchStartedAt: at(-10) },
  precaching: {
    status: { a: 'Succeeded', b: 'Succeeded', c: 'Active' },
    summary: { imagesDone: 1, imagesTotal: 2, bytesDone: 300, bytesTotal: 900 },
  },
};

function valuesOf(given: Partial<FleetSources>, ...metrics: readonly FleetMetric[]): Record<string, number> {
  const clusters = given.clusters ?? [];
  const samples = fleetSamples({
    upgrades: [],
    clusters,
    cluster: (name) => clusters.find(({ metadata }) => metadata.name === name),
    oldestObservation: () => undefined,
    now: NOW,
    ...given,
  });
  const wanted = samples.filter(({ metric }) => metrics.includes(metric));
  return Object.fromEntries(
    wanted.map(({ metric, labels, value }) => [[...(metrics.length > 1 ? [metric] : []), ...Object.values(labels)].join(' '), value]),
  );
}

test('clusters are counted by what is known of their agents', () => {
  const clusters = [cluster('a', 'True'), cluster('b', 'True'), cluster('c', 'False'), cluster('d', 'Unknown'), cluster('e')];
  expect(valuesOf({ clusters }, 'flotilla_clusters')).toEqual({ available: 2, unavailable: 1, unknown: 2 });
});

test('upgrades are counted by state', () => {
  const upgrades = [
    upgrade('new'),
    upgrade('bad', { conditions: [condition('Validated', 'False')] }),
    upgrade('pulls', { conditions: [condition('PrecachingSuceeded', 'False')] }, { preCaching: true }),
    upgrade(
      'cached in part',
      { conditions: [{ ...condition('PrecachingSuceeded', 'False'), reason: 'PartiallyDone' }] },
      { preCaching: true },
    ),
    upgrade('runs', RUNNING),
    upgrade('stops', { ...RUNNING, conditions: [...RUNNING.conditions, condition('Paused', 'True')] }),
    upgrade('good', { conditions: [condition('Succeeded', 'True')] }),
    upgrade('late', { conditions: [condition('Succeeded', 'False')] }),
    upgrade('gone', RUNNING, {}, { deletionTimestamp: at(0) }),
  ];
  expect(valuesOf({ upgrades }, 'flotilla_upgrades')).toEqual({
    refused: 1,
    waiting: 2,
    precaching: 1,
    running: 1,
    paused: 1,
    succeeded: 1,
    failed: 1,
    deleting: 1,
  });
});

describe('an upgrade that runs', () => {
  const runs = { upgrades: [upgrade('u', RUNNING)] };

  test('says where its clusters are', () => {
    expect(valuesOf(runs, 'flotilla_upgrade_clusters')).toEqual({
      'default u waiting': 1,
      'default u in_progress': 1,
      'default u complete': 1,
      'default u timedout': 1,
      'default u failed': 0,
    });
    expect(valuesOf(runs, 'flotilla_upgrade_precaching_clusters')).toMatchObject({ 'default u Succeeded': 2, 'default u Active': 1 });
  });

  test('says how far it is, and what it takes at least', () => {
    expect(
      valuesOf(
        runs,
        'flotilla_upgrade_batch',
        'flotilla_upgrade_batches',
        'flotilla_upgrade_seconds_left',
        'flotilla_upgrade_precaching_bytes_done',
        'flotilla_upgrade_precaching_bytes_total',
      ),
    ).toEqual({
      'flotilla_upgrade_batch default u': 2,
      'flotilla_upgrade_batches default u': 3,
      'flotilla_upgrade_seconds_left default u': 30 * 60,
      'flotilla_upgrade_precaching_bytes_done default u': 300,
      'flotilla_upgrade_precaching_bytes_total default u': 900,
    });
  });

  test('counts those of its clusters whose agents are away, but for those that have ended', () => {
    const clusters = [cluster('b', 'Unknown'), cluster('c', 'Unknown'), cluster('d', 'True')];
    expect(valuesOf({ ...runs, clusters }, 'flotilla_upgrade_clusters_away')).toEqual({ 'default u': 1 });
  });

  test('counts waits that are older than the time-out of their batch', () => {
    const wait = (minutes: number) => `waits (placement) since ${at(minutes).replace('.000', '')}: a decision`;
    const messages = { c: wait(-400), '(upgrade)': wait(-401), d: wait(-5) };
    expect(valuesOf({ upgrades: [upgrade('u', { ...RUNNING, messages }), upgrade('new')] }, 'flotilla_upgrade_overdue_waits')).toEqual({
      'default u': 2,
      'default new': 0,
    });
  });

  test('says how old the oldest observation is, and nothing where no job runs', () => {
    const oldestObservation = (uid: string) => (uid === 'uid-u' ? NOW - 90_000 : undefined);
    expect(valuesOf({ ...runs, oldestObservation }, 'flotilla_upgrade_oldest_observation_seconds')).toEqual({ 'default u': 90 });
    expect(valuesOf(runs, 'flotilla_upgrade_oldest_observation_seconds')).toEqual({});
  });
});

test.each([
  { name: 'has none', annotations: {}, want: {} },
  { name: 'is in it', annotations: { [Annotation.windowEnd]: at(10) }, want: { 'default u': 600 } },
  { name: 'is before it', annotations: { [Annotation.windowStart]: at(5), [Annotation.windowEnd]: at(10) }, want: {} },
  { name: 'is after it', annotations: { [Annotation.windowEnd]: at(-1) }, want: { 'default u': 0 } },
])('the window left of an upgrade that $name', ({ annotations, want }) =>
  expect(valuesOf({ upgrades: [upgrade('u', RUNNING, {}, { annotations })] }, 'flotilla_upgrade_window_seconds_left')).toEqual(want),
);

test('too many upgrades have no series of their own; those that run and older ones have', () => {
  const young = Array.from({ length: MOST_UPGRADES + 5 }, (_, index) => upgrade(`young-${index}`));
  const upgrades = [
    ...young,
    upgrade('old', undefined, {}, { creationTimestamp: at(-120) }),
    upgrade('runs', RUNNING, {}, { creationTimestamp: at(0) }),
    upgrade('done', { conditions: [condition('Succeeded', 'True')] }, {}, { creationTimestamp: at(-999) }),
  ];
  expect(valuesOf({ upgrades }, 'flotilla_upgrades_overflow')).toEqual({ '': 7 });
  const named = valuesOf({ upgrades }, 'flotilla_upgrade_batches');
  expect(Object.keys(named)).toHaveLength(MOST_UPGRADES);
  expect(named).toMatchObject({ 'default old': 0, 'default runs': 3 });
  expect(named).not.toHaveProperty(['default done']);
});

test('each sample is of a metric of the table with its labels, and a registry serves them', async () => {
  const metrics = createMetrics({ process: false });
  const sources: FleetSources = {
    upgrades: [upgrade('u', RUNNING, {}, { annotations: { [Annotation.windowEnd]: at(10) } })],
    clusters: [cluster('a', 'True')],
    cluster: () => undefined,
    oldestObservation: () => NOW,
    places: { pulling: { figures: () => [{ label: 'region', value: 'north', most: 3, taken: 2 }], waiting: 1 } },
    now: NOW,
  };
  const samples = fleetSamples(sources);
  for (const { metric, labels } of samples)
    expect(Object.keys(labels).toSorted(), metric).toEqual([...FLEET_METRICS[metric].labels].toSorted());
  expect(new Set(samples.map(({ metric }) => metric))).toEqual(new Set(Object.keys(FLEET_METRICS)));
  const served = serveSamples(metrics, FLEET_METRICS, () => samples);
  const text = await metrics.registry.metrics();
  expect(text).toContain('flotilla_limit_places_taken{activity="pulling",label="region",value="north"} 2');
  expect(text).toContain('flotilla_limit_waiting{activity="pulling"} 1');
  expect(text).toContain('flotilla_upgrade_window_seconds_left{upgrade_namespace="default",upgrade="u"} 600');
  served[Symbol.dispose]();
  expect(await metrics.registry.metrics()).not.toContain('flotilla_upgrade');
});
