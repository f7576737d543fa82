import { readFile } from 'node:fs/promises';
import { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { type MetricName, type MetricSources, samplesOf, VERSION_METRICS } from './samples.ts';

const at = (day: number): string => `2026-01-0${day}T00:00:00Z`;
const seconds = (day: number): number => Date.parse(at(day)) / 1_000;
const clusterVersion = ({ spec = {}, status = {} }: { spec?: object; status?: object } = {}) =>
  ClusterVersion.schema.parse({
    metadata: { name: 'version', creationTimestamp: at(1) },
    spec: { clusterID: 'id', channel: 'stable', ...spec },
    status: { desired: { version: '4.20.2', image: 'two' }, availableUpdates: null, ...status },
  });
const done = (version: string, image: string, day: number) => ({
  state: 'Completed',
  version,
  image,
  startedTime: at(1),
  completionTime: at(day),
});
const release = { version: '4.20.2', image: 'two', createdAt: at(1) };
const sources = (more: Partial<MetricSources> = {}): MetricSources => ({ clusterVersion: clusterVersion(), operators: [], ...more });

/** Values of one metric by its labels, in the order in which they are declared. */
const valuesOf = (metric: MetricName, given: Partial<MetricSources>): Record<string, number> =>
  Object.fromEntries(
    samplesOf(sources(given))
      .filter((sample) => sample.metric === metric)
      .map(({ labels, value }) => [VERSION_METRICS[metric].labels.map((label) => labels[label]).join(' | '), value]),
  );

test('every sample has every label of its metric', () => {
  const operator = ClusterOperator.schema.parse({ metadata: { name: 'dns' }, spec: {}, status: {} });
  for (const { metric, labels } of samplesOf(
    sources({ operators: [operator], release, progress: { done: 1, total: 2 }, updatesFreshAtMs: 1 }),
  ))
    expect(Object.keys(labels).toSorted(), metric).toEqual([...VERSION_METRICS[metric].labels].toSorted());
});

describe('cluster_version', () => {
  test('of a cluster that was updated', () => {
    const object = clusterVersion({
      status: { history: [done('4.20.2', 'two', 3), done('4.20.1', 'one', 2), { ...done('4.19.0', 'zero', 1), state: 'Partial' }] },
    });
    expect(valuesOf('cluster_version', { clusterVersion: object, release })).toEqual({
      'current | 4.20.2 | two | 4.20.2': seconds(1),
      'completed | 4.20.2 | two | 4.20.1': seconds(3),
      'initial | 4.19.0 | zero | ': seconds(1),
      'cluster | 4.20.2 | two | 4.19.0': seconds(1),
    });
  });

  test('of a cluster that is being updated and fails', () => {
    const object = clusterVersion({
      spec: { desiredUpdate: { version: '4.20.2', image: 'two' } },
      status: {
        history: [
          { state: 'Partial', version: '4.20.2', image: 'two', startedTime: at(4), completionTime: null },
          done('4.20.1', 'one', 2),
        ],
        conditions: [{ type: 'Failing', status: 'True', lastTransitionTime: at(5) }],
      },
    });
    expect(valuesOf('cluster_version', { clusterVersion: object, release })).toEqual({
      'current | 4.20.2 | two | 4.20.1': seconds(1),
      'completed | 4.20.1 | one | ': seconds(2),
      'initial | 4.20.1 | one | ': seconds(1),
      'cluster | 4.20.2 | two | 4.20.1': seconds(1),
      'failure | 4.20.2 | two | 4.20.1': seconds(5),
      'updating | 4.20.2 | two | 4.20.1': seconds(4),
    });
  });

  test('of a cluster that is asked for another release', () => {
    const object = clusterVersion({
      spec: { desiredUpdate: { version: '4.20.3', image: 'three' } },
      status: { history: [done('4.20.2', 'two', 3)], conditions: [{ type: 'Failing', status: 'True', lastTransitionTime: at(5) }] },
    });
    expect(valuesOf('cluster_version', { clusterVersion: object, release })).toMatchObject({
      'desired | 4.20.3 | three | 4.20.2': seconds(5),
      'failure | 4.20.3 | three | 4.20.2': seconds(5),
    });
  });
});

describe('updates', () => {
  test.each([
    { name: 'nothing is known', given: {}, want: {} },
    {
      name: 'they were retrieved',
      given: { status: { conditions: [{ type: 'RetrievedUpdates', status: 'True' }] } },
      want: { '<default> | stable': 0 },
    },
    { name: 'a service is named', given: { spec: { upstream: 'https://u' } }, want: { 'https://u | stable': 0 } },
    { name: 'there are some', given: { status: { availableUpdates: [{ version: '1', image: 'i' }] } }, want: { '<default> | stable': 1 } },
  ])('are counted where $name', ({ given, want }) =>
    expect(valuesOf('cluster_version_available_updates', { clusterVersion: clusterVersion(given) })).toEqual(want),
  );

  test('under conditions say since when', () => {
    const conditions = [{ type: 'Recommended', status: 'Unknown', reason: 'EvaluationFailed', message: 'm', lastTransitionTime: at(2) }];
    const object = clusterVersion({
      status: { conditionalUpdates: [{ release: { version: '4.20.3', image: 'i' }, risks: [], conditions }] },
    });
    expect(valuesOf('cluster_version_conditional_update_condition_seconds', { clusterVersion: object })).toEqual({
      '4.20.3 | Recommended | Unknown | EvaluationFailed': seconds(2),
    });
  });

  test('say when they were last retrieved', () => {
    expect(valuesOf('cluster_version_operator_update_retrieval_timestamp_seconds', { updatesFreshAtMs: 1_500 })).toEqual({ '': 1.5 });
    expect(valuesOf('cluster_version_operator_update_retrieval_timestamp_seconds', {})).toEqual({});
  });
});

test('capabilities are enabled or known', () => {
  const object = clusterVersion({ status: { capabilities: { enabledCapabilities: ['Build'], knownCapabilities: ['Build', 'Console'] } } });
  expect(valuesOf('cluster_version_capability', { clusterVersion: object })).toEqual({ Build: 1, Console: 0 });
});

describe('operators', () => {
  const operator = (name: string, conditions: object[], version?: string) =>
    ClusterOperator.schema.parse({
      metadata: { name },
      spec: {},
      status: { conditions, versions: version ? [{ name: 'operator', version }] : [] },
    });
  const operators = [
    operator(
      'dns',
      [
        { type: 'Available', status: 'True', reason: 'AsExpected' },
        { type: 'Degraded', status: 'False', reason: 'AsExpected' },
      ],
      '4.20.1',
    ),
    operator('etcd', [{ type: 'Available', status: 'Unknown', reason: 'Lost' }]),
    operator('new', []),
  ];
  const object = clusterVersion({
    status: {
      conditions: [
        { type: 'Available', status: 'True' },
        { type: 'Upgradeable', status: 'False', reason: 'Gate' },
      ],
    },
  });

  test('are up while they are available, and so is the version', () =>
    expect(valuesOf('cluster_operator_up', { clusterVersion: object, operators })).toEqual({
      'version | 4.20.2 | ': 1,
      'dns | 4.20.1 | AsExpected': 1,
      'etcd |  | Lost': 0,
      'new |  | NoAvailableCondition': 0,
    }));

  test('have conditions, of which those that are not known are left out', () =>
    expect(valuesOf('cluster_operator_conditions', { clusterVersion: object, operators })).toEqual({
      'version | Available | ': 1,
      'version | Upgradeable | Gate': 0,
      'dns | Available | AsExpected': 1,
      'dns | Degraded | AsExpected': 0,
    }));

  test('the version is not up where there is none', () =>
    expect(valuesOf('cluster_operator_up', { clusterVersion: undefined })).toEqual({ 'version |  | ClusterVersionNotFound': 0 }));
});

test.each<{ installer: MetricSources['installer']; want: string }>([
  { installer: undefined, want: ' |  | ' },
  { installer: { type: 'openshift-install', data: { version: 'v4', invoker: 'me' } }, want: 'openshift-install | v4 | me' },
  { installer: { type: 'other', data: {} }, want: 'other |  | ' },
])('the installer is "$want"', ({ installer, want }) => expect(valuesOf('cluster_installer', { installer })).toEqual({ [want]: 1 }));

test('the payload is applied or pending', () =>
  expect(valuesOf('cluster_version_payload', { release, progress: { done: 600, total: 903 } })).toEqual({
    '4.20.2 | pending': 303,
    '4.20.2 | applied': 600,
  }));

test('risks apply, do not, or are not known', () => {
  const risk = (name: string, status: string) => ({
    name,
    message: 'm',
    url: 'u',
    matchingRules: [{ type: 'Always' }],
    conditions: [{ type: 'Applies', status, reason: 'R' }],
  });
  const update = { release: { version: '1', image: 'i' }, risks: [risk('A', 'True'), risk('B', 'False'), risk('C', 'Unknown')] };
  expect(
    valuesOf('cluster_version_risk_conditions', { clusterVersion: clusterVersion({ status: { conditionalUpdates: [update] } }) }),
  ).toEqual({
    'Applies | A | R': 1,
    'Applies | B | R': 0,
    'Applies | C | R': -1,
  });
});

test('alerts of the chart ask for metrics and labels that there are', async () => {
  const chart = new URL('../../../../charts/spoke/templates/version-operator-monitoring.yaml', import.meta.url);
  const asked = [...(await readFile(chart, 'utf8')).matchAll(/\b(cluster_[a-z_]+)(?:\{([^}]*)\})?/g)];
  expect(asked.length).toBeGreaterThan(10);
  const labelsOf = new Map<string, readonly string[]>(Object.entries(VERSION_METRICS).map(([name, { labels }]) => [name, labels]));
  const unknown = asked.flatMap(([, name = '', matchers = '']) => {
    const asksFor = [...matchers.matchAll(/(\w+)!?=/g)].map(([, label = '']) => label);
    return asksFor.every((label) => labelsOf.get(name)?.includes(label)) && labelsOf.has(name) ? [] : [`${name}{${matchers}}`];
  });
  expect(unknown).toEqual([]);
});
