import { Annotation } from '@flotilla/api';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeStatus, FleetLimits } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { waitForPlace } from '../limits/places.ts';
import { waitMessage } from '../waits/wait.ts';
import { answerLimits } from './limits-answer.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const HOUR_MS = 3_600_000;

const WAITS = waitMessage(waitForPlace({ id: '', most: 1 }, 'pulling', { holders: [], own: 'ns/x' }));
const waiting = (clusters: readonly string[]) => Object.fromEntries(clusters.map((cluster) => [cluster, WAITS]));

const reportedAt = (isOld: boolean): string => new Date(NOW - (isOld ? HOUR_MS : 1_000)).toISOString();

interface Pulls {
  /** Rate of each cluster that pulls; undefined: nothing is reported. */
  readonly rates?: Readonly<Record<string, number | undefined>>;
  readonly waiting?: readonly string[];
  /** Clusters whose last report is an hour old. */
  readonly old?: readonly string[];
  /** Hours until its window opens. */
  readonly opensIn?: number;
}

function pulling(name: string, { rates = {}, waiting: waiters = [], old = [], opensIn = 0 }: Pulls): ClusterGroupUpgrade {
  const progress = Object.entries(rates).flatMap(([cluster, bytesPerSecond]) =>
    bytesPerSecond === undefined
      ? []
      : [[cluster, { imagesDone: 0, imagesTotal: 1, bytesDone: 0, bytesTotal: 1, bytesPerSecond, at: reportedAt(old.includes(cluster)) }]],
  );
  const states = [
    ...Object.keys(rates).map((cluster) => [cluster, 'Active'] as const),
    ...waiters.map((cluster) => [cluster, 'NotStarted'] as const),
  ];
  const status: ClusterGroupUpgradeStatus = {
    status: {},
    precaching: { status: Object.fromEntries(states), messages: waiting(waiters), progress: Object.fromEntries(progress) },
  };
  const annotations = { [Annotation.windowStart]: new Date(NOW + opensIn * HOUR_MS).toISOString() };
  return {
    metadata: { name, namespace: 'ns', uid: name, creationTimestamp: '2026-01-01T00:00:00Z', ...(opensIn > 0 && { annotations }) },
    status,
  };
}

const running = (name: string, clusters: readonly string[]): ClusterGroupUpgrade => ({
  metadata: { name, namespace: 'ns', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
  status: {
    conditions: [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    status: { currentBatchRemediationProgress: Object.fromEntries(clusters.map((cluster) => [cluster, { state: 'InProgress' }])) },
  },
});

const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  a: { region: 'north' },
  b: { region: 'north' },
  c: { region: 'south' },
  d: {},
  e: { region: 'north' },
};
const answer = (limits: FleetLimits, ...upgrades: readonly ClusterGroupUpgrade[]) =>
  answerLimits({ limits, upgrades, clusters: new Map(Object.entries(LABELS)), now: NOW });

test('upgrades that wait stand in the order of their turns, not of their size', () => {
  const [all] = answer(
    { pulling: 1 },
    pulling('holds', { rates: { a: 1 } }),
    pulling('tomorrow', { waiting: ['b', 'c', 'd'], opensIn: 24 }),
    pulling('now', { waiting: ['e'] }),
  ).limits;
  expect(all).toMatchObject({
    most: 1,
    taken: 1,
    waiting: 4,
    holders: [{ upgrade: 'ns/holds', clusters: 1 }],
    waiters: [
      { upgrade: 'ns/now', clusters: 1 },
      { upgrade: 'ns/tomorrow', clusters: 3 },
    ],
  });
});

test('a cluster of two upgrades takes one place, as on the hub, and both have it', () => {
  const [all] = answer({ upgrading: 5 }, running('one', ['a', 'b']), running('two', ['b'])).limits;
  expect(all).toMatchObject({
    taken: 2,
    holders: [
      { upgrade: 'ns/one', clusters: 2 },
      { upgrade: 'ns/two', clusters: 1 },
    ],
  });
});

test('each value of a label that a cluster or the ConfigMap has is a limit of its own', () => {
  const limits: FleetLimits = { byLabel: [{ label: 'region', pulling: 2, values: { west: { pulling: 1 } } }] };
  const { limits: uses, notes } = answer(limits, pulling('u', { rates: { a: 1, b: 1 }, waiting: ['e'] }));
  expect(uses.map(({ value, most, taken, waiting: waits }) => [value, most, taken, waits])).toEqual([
    ['', 2, 0, 0],
    ['north', 2, 2, 1],
    ['south', 2, 0, 0],
    ['west', 1, 0, 0],
  ]);
  expect(notes).toEqual(['no ManagedCluster has the label region=west']);
});

test('a limit of bytes a second says what pullers report, and nothing where none has reported recently', () => {
  const limits: FleetLimits = { bytesPerSecond: 9_000_000, byLabel: [{ label: 'region', bytesPerSecond: 5_000_000 }] };
  const { limits: places, rates } = answer(limits, pulling('u', { rates: { a: 3_000_000, b: 1_000_000, d: undefined }, old: ['b'] }));
  // Each has as many places as pulls can share it.
  expect(places.map(({ activity, label, value, most, taken }) => [activity, label, value, most, taken])).toEqual([
    ['pulling', undefined, undefined, 27, 3],
    ['pulling', 'region', '', 15, 1],
    ['pulling', 'region', 'north', 15, 2],
    ['pulling', 'region', 'south', 15, 0],
  ]);
  expect(rates).toEqual([
    {
      most: 9_000_000,
      taken: { certainty: 'forecast', value: 3_000_000, why: '2 of 3 clusters that pull have not reported their rate recently' },
      pullers: [{ upgrade: 'ns/u', clusters: 3 }],
    },
    {
      label: 'region',
      value: '',
      most: 5_000_000,
      taken: { certainty: 'unknown', why: '1 of 1 clusters that pull have not reported their rate recently' },
      pullers: [{ upgrade: 'ns/u', clusters: 1 }],
    },
    {
      label: 'region',
      value: 'north',
      most: 5_000_000,
      taken: { certainty: 'forecast', value: 3_000_000, why: '1 of 2 clusters that pull have not reported their rate recently' },
      pullers: [{ upgrade: 'ns/u', clusters: 2 }],
    },
    { label: 'region', value: 'south', most: 5_000_000, taken: { certainty: 'exact', value: 0 }, pullers: [] },
  ]);
});
