import { Annotation } from '@flotilla/api';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeStatus, FleetLimits } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { readWait, waitMessage } from '../waits/wait.ts';
import { BYTES_FOR_PLACE, byTurn, clustersWithPlace, freesPlaces, isLimited, limitsOn, Occupancy, waitForPlace } from './places.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');

const upgrade = (
  name: string,
  status: ClusterGroupUpgradeStatus = { status: {} },
  metadata: Partial<ClusterGroupUpgrade['metadata']> = {},
): ClusterGroupUpgrade => ({
  apiVersion: 'ran.openshift.io/v1alpha1',
  kind: 'ClusterGroupUpgrade',
  metadata: { name, namespace: 'ns', uid: name, creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  status,
});
const running: ClusterGroupUpgradeStatus['conditions'] = [
  { type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
];

describe('limits on a cluster', () => {
  const limits: FleetLimits = {
    pulling: 9,
    byLabel: [
      { label: 'region', pulling: 4, values: { north: { pulling: 2 }, south: { upgrading: 1 } } },
      { label: 'link', upgrading: 1 },
    ],
  };

  test('are that of all, and those of its labels by value', () => {
    const most = (labels: Record<string, string>) => limitsOn(limits, 'pulling', labels).map((limit) => limit.most);
    expect(most({ region: 'north' })).toEqual([9, 2]);
    expect(most({ region: 'south' })).toEqual([9, 4]);
    expect(most({})).toEqual([9, 4]);
    expect(limitsOn(limits, 'upgrading', { region: 'south', link: 'fibre' }).map(({ id }) => id)).toEqual(['region=south', 'link=fibre']);
  });

  test('a name that every object has is no value', () => {
    expect(limitsOn(limits, 'pulling', { region: 'constructor' }).map(({ most }) => most)).toEqual([9, 4]);
    expect(limitsOn({ byLabel: [{ label: 'constructor', pulling: 1 }] }, 'pulling', {})[0]?.of?.value).toBe('');
  });

  test('there are some where a single value has one', () => {
    expect(isLimited({ byLabel: [{ label: 'a', values: { b: { upgrading: 1 } } }] }, 'upgrading')).toBe(true);
    expect(isLimited({ byLabel: [{ label: 'a', values: { b: { upgrading: 1 } } }] }, 'pulling')).toBe(false);
  });
});

describe('a limit of bytes', () => {
  const most = (limits: FleetLimits, labels = {}) => limitsOn(limits, 'pulling', labels).map((limit) => limit.most);

  test('has as many places as pulls can share it', () => {
    expect(most({ bytesPerSecond: 10 * BYTES_FOR_PLACE - 1 })).toEqual([9]);
    expect(most({ bytesPerSecond: 20_000 })).toEqual([1]);
    expect(limitsOn({ bytesPerSecond: BYTES_FOR_PLACE }, 'upgrading')).toEqual([]);
    expect(isLimited({ byLabel: [{ label: 'a', bytesPerSecond: BYTES_FOR_PLACE }] }, 'pulling')).toBe(true);
  });

  test('and one of pulls count both, value by value', () => {
    const rule = {
      label: 'a',
      pulling: 4,
      bytesPerSecond: 3 * BYTES_FOR_PLACE,
      values: { b: { pulling: 2 }, c: { bytesPerSecond: BYTES_FOR_PLACE } },
    };
    expect([most({ byLabel: [rule] }), most({ byLabel: [rule] }, { a: 'b' }), most({ byLabel: [rule] }, { a: 'c' })]).toEqual([
      [3],
      [2],
      [1],
    ]);
  });

  test('is named as what bounds the places', () => {
    const [limit] = limitsOn({ bytesPerSecond: 700_000 }, 'pulling');
    expect(limit && waitForPlace(limit, 'pulling', { holders: [], own: 'ns/own' }).says).toBe(
      'waits for a place: at most 2 clusters pre-cache at a time, each with a part of 700000 bytes a second (ConfigMap flotilla-limits)',
    );
  });
});

describe('clusters with a place', () => {
  const states = { a: 'NotStarted', b: 'PreparingToStart', c: 'Starting', d: 'Active', e: 'Succeeded', f: 'PrecacheTimeout' } as const;

  test('are those whose job has begun and not ended', () => {
    expect(clustersWithPlace(upgrade('u', { status: {}, precaching: { status: states } }), 'pulling')).toEqual(['b', 'c', 'd']);
  });

  test('a proof asks the node alone, and what it restores is pulled', () => {
    const proofs = [
      { kind: 'prove', number: 1, clusters: ['b'] },
      { kind: 'restore', number: 2, clusters: ['c'] },
    ] as never;
    expect(clustersWithPlace(upgrade('u', { status: {}, precaching: { status: states, proofs } }), 'pulling')).toEqual(['c', 'd']);
  });

  test('are those whose part is under way, in a rollout that runs', () => {
    const status = {
      conditions: running,
      clusters: [{ name: 'b', state: 'timedout' as const }],
      status: {
        currentBatchRemediationProgress: {
          a: { state: 'InProgress' as const },
          b: { state: 'InProgress' as const },
          c: { state: 'Completed' as const },
        },
      },
    };
    expect(clustersWithPlace(upgrade('u', status), 'upgrading')).toEqual(['a']);
    expect(clustersWithPlace(upgrade('u', status, { deletionTimestamp: '2026-01-01T00:00:00Z' }), 'upgrading')).toEqual([]);
  });

  test('leave their places when they end, and when their upgrade does', () => {
    const at = (state: 'Active' | 'Succeeded') => upgrade('u', { status: {}, precaching: { status: { a: state } } });
    expect(freesPlaces(at('Active'), at('Succeeded'))).toBe(true);
    expect(freesPlaces(at('Succeeded'), at('Active'))).toBe(false);
    expect(freesPlaces(at('Active'), upgrade('u', at('Active').status, { deletionTimestamp: '2026-01-01T00:00:00Z' }))).toBe(true);
  });
});

describe('an occupancy', () => {
  const labels: Record<string, Record<string, string>> = { a: { region: 'n' }, b: { region: 'n' }, c: { region: 's' } };
  const occupancy = () =>
    new Occupancy({ pulling: 2, byLabel: [{ label: 'region', pulling: 1 }] }, 'pulling', (cluster) => labels[cluster]);

  test('is full by the first limit without a place', () => {
    const places = occupancy();
    expect(places.findFull('a')).toBeUndefined();
    places.take('a', 'ns/x');
    places.take('a', 'ns/y');
    expect(places.findFull('b')).toEqual({ id: 'region=n', most: 1, of: { label: 'region', value: 'n' } });
    expect(places.holders('region=n')).toEqual(['ns/x']);
    places.take('c', 'ns/y');
    expect(places.findFull('d')).toEqual({ id: '', most: 2 });
  });

  test('keeps a free place for one whose turn is earlier, and none that is not free', () => {
    const places = occupancy();
    places.reserve('a');
    places.reserve('b');
    expect(places.has('a')).toBe(false);
    expect(places.findFull('b')?.id).toBe('region=n');
    expect(places.findFull('c')).toBeUndefined();
  });

  test('keeps one place for a cluster that two upgrades wait for', () => {
    const places = occupancy();
    places.reserve('c');
    places.reserve('c');
    expect(places.count('')).toBe(1);
  });
});

test('those whose window opens first have their turn first, then the oldest', () => {
  const at = (name: string, hours: number | undefined, created = 0) =>
    upgrade(
      name,
      { status: {} },
      {
        creationTimestamp: new Date(NOW - 86_400_000 + created).toISOString(),
        ...(hours !== undefined && { annotations: { [Annotation.windowStart]: new Date(NOW + hours * 3_600_000).toISOString() } }),
      },
    );
  const never = upgrade('never', { status: {} }, { annotations: { [Annotation.windowStart]: 'soon' } });
  const all = [never, at('late', 9), at('soon', 1), at('young', undefined, 2_000), at('open', -1, 1_000), at('old', undefined)];
  expect(all.toSorted((a, b) => byTurn(a, b, NOW)).map(({ metadata }) => metadata.name)).toEqual([
    'old',
    'open',
    'young',
    'soon',
    'late',
    'never',
  ]);
});

test('a wait names the limit and who has its places, and does not change with their number', () => {
  const limit = { id: 'region=n', most: 1, of: { label: 'region', value: '' } };
  const wait = waitForPlace(limit, 'upgrading', { holders: ['ns/a', 'ns/b', 'ns/c', 'ns/d', 'ns/own'], own: 'ns/own' });
  expect(wait.says).toBe(
    'waits for a place: at most 1 cluster without the label region is upgraded at a time (ConfigMap flotilla-limits); ns/a, ns/b, ns/c and 1 more also have places',
  );
  expect(readWait(waitMessage(wait))).toEqual(wait);
});
