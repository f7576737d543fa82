import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { findRetry, joinRollout, lateClusters, latePulls, retriedPrecaches, retryInRollout } from './late-clusters.ts';

const running = (status: object) =>
  ClusterGroupUpgradeStatus.parse({
    remediationPlan: [['a', 'b'], ['c']],
    computedMaxConcurrency: 2,
    status: { currentBatch: 1, currentBatchStartedAt: '2026-01-01T00:00:00Z' },
    ...status,
  });
const mode = {
  kind: 'policy',
  count: 2,
  name: (index: number) => `p${index}`,
  standing: (cluster: string, index: number) =>
    cluster === 'compliant' ? 'done' : cluster === 'strange' ? 'notMatched' : index === 0 ? 'done' : 'pending',
  soakSeconds: () => 0,
  detail: () => ({}),
} as const;
const input = { mode, exists: () => true, eligible: undefined, preCaching: false };

describe('who joins', () => {
  test.each([
    {
      name: 'clusters that are new and have something to do',
      selected: ['a', 'x', 'y', 'z'],
      want: [['a', 'b'], ['c'], ['x', 'y'], ['z']],
    },
    { name: 'nobody who complies, or whom no policy concerns yet', selected: ['compliant', 'strange'], want: [['a', 'b'], ['c']] },
    {
      name: 'nobody who has a record',
      selected: ['gone'],
      given: { clusters: [{ name: 'gone', state: 'failed' }] },
      want: [['a', 'b'], ['c']],
    },
  ])('$name', ({ selected, given = {}, want }) => {
    expect(joinRollout(running(given), { ...input, selected }).remediationPlan).toEqual(want);
  });

  test('nobody who is no ManagedCluster, or whom the blocking upgrades hold back', () => {
    const status = running({});
    expect(joinRollout(status, { ...input, selected: ['x', 'y'], exists: (cluster) => cluster !== 'x', eligible: new Set(['x']) })).toBe(
      status,
    );
  });

  test('they pull first where the upgrade pre-caches', () => {
    const precaching = { spec: {}, status: { a: 'Succeeded' } };
    const joined = joinRollout(running({ precaching }), { ...input, selected: ['x'], preCaching: true });
    expect(joined.precaching?.status).toEqual({ a: 'Succeeded', x: 'NotStarted' });
    expect(joinRollout(joined, { ...input, selected: ['x'], preCaching: true })).toBe(joined);
  });
});

test('a late batch that has started is as any other, and the next who join come behind it', () => {
  const status = running({
    batchesAtStart: 2,
    remediationPlan: [['a', 'b'], ['c'], ['x']],
    status: { currentBatch: 3, currentBatchStartedAt: '2026-01-01T00:00:00Z' },
  });
  expect(lateClusters(status)).toEqual([]);
  const joined = joinRollout(status, { ...input, selected: ['y'] });
  expect(joined.remediationPlan).toEqual([['a', 'b'], ['c'], ['x'], ['y']]);
  expect(lateClusters(joined)).toEqual(['y']);
});

const upgrade = (annotations: Record<string, string>, lastHandledRetryAt?: string) => ({
  metadata: { name: 'u', annotations },
  status: ClusterGroupUpgradeStatus.parse({ lastHandledRetryAt }),
});
const all = { at: 't', isMeant: () => true };
const there = () => true;

describe('what is asked', () => {
  test.each([
    { name: 'nothing', at: undefined, want: undefined },
    { name: 'a new time', at: '2026-01-01T00:00:00Z', want: '2026-01-01T00:00:00Z' },
    { name: 'a time that was handled', at: 'before', want: undefined },
    { name: 'blanks', at: '  ', want: undefined },
  ])('$name', ({ at, want }) => expect(findRetry(upgrade(at === undefined ? {} : { [Annotation.retryAt]: at }, 'before'))?.at).toBe(want));

  test('clusters by name, all without one', () => {
    const meant = (names?: string) => {
      const annotations = { [Annotation.retryAt]: 't', ...(names !== undefined && { [Annotation.retryClusters]: names }) };
      return ['a', 'b', 'c'].filter((cluster) => findRetry(upgrade(annotations))?.isMeant(cluster));
    };
    expect(meant()).toEqual(['a', 'b', 'c']);
    expect(meant(' a, c ')).toEqual(['a', 'c']);
    expect([meant(''), meant(' , ')]).toEqual([[], []]);
    expect(meant('other')).toEqual([]);
  });

  test('a huge value is confirmed as it is compared', () => {
    const annotations = { [Annotation.retryAt]: 'x'.repeat(10_000) };
    const { at = '' } = findRetry(upgrade(annotations)) ?? {};
    expect(at.length).toBeLessThan(1000);
    expect(findRetry(upgrade(annotations, at))).toBeUndefined();
  });
});

test('pre-caching is tried again where it failed', () => {
  const states = { a: 'Succeeded', b: 'UnrecoverableError', c: 'PrecacheTimeout', d: 'Active' } as const;
  expect(retriedPrecaches(states, all)).toEqual(['b', 'c']);
  expect(retriedPrecaches(states, { at: 't', isMeant: (cluster) => cluster === 'c' })).toEqual(['c']);
  expect(retriedPrecaches(undefined, all)).toEqual([]);
});

const halfway = (status: object) =>
  ClusterGroupUpgradeStatus.parse({ remediationPlan: [['a', 'b'], ['c', 'd'], ['e']], computedMaxConcurrency: 2, ...status });
const record = (name: string, state: string) => ({ name, state });

describe('in a rollout', () => {
  test('leaves a cluster that is not there its record', () => {
    const clusters = [record('a', 'failed'), record('b', 'failed')];
    const before = halfway({ clusters, status: { currentBatch: 3, currentBatchStartedAt: '2026-01-01T00:00:00Z' } });
    expect(retryInRollout(before, all, (cluster) => cluster !== 'a').clusters).toEqual([record('a', 'failed')]);
  });

  test('clusters of batches that have ended come in last batches, of the size of a batch', () => {
    const before = halfway({
      clusters: [record('a', 'timedout'), record('b', 'timedout'), record('c', 'failed'), record('d', 'complete')],
      status: {
        currentBatch: 3,
        currentBatchStartedAt: '2026-01-01T00:00:00Z',
        currentBatchRemediationProgress: { e: { state: 'InProgress' } },
      },
    });
    const after = retryInRollout(before, all, there);
    expect(after.remediationPlan).toEqual([['a', 'b'], ['c', 'd'], ['e'], ['a', 'b'], ['c']]);
    expect(after.clusters).toEqual([record('d', 'complete')]);
    expect(after.lastHandledRetryAt).toBe('t');
    expect(after.status).toEqual(before.status);
  });

  test('a cluster leaves the batch that runs, with its progress', () => {
    const before = halfway({
      clusters: [record('c', 'failed')],
      status: {
        currentBatch: 2,
        currentBatchStartedAt: '2026-01-01T00:00:00Z',
        currentBatchRemediationProgress: { c: { state: 'InProgress', policyIndex: 1 }, d: { state: 'InProgress' } },
      },
    });
    const after = retryInRollout(before, all, there);
    expect(after.remediationPlan).toEqual([['a', 'b'], ['d'], ['e'], ['c']]);
    expect(after.status.currentBatchRemediationProgress).toEqual({ d: { state: 'InProgress' } });
  });

  test.each([
    { name: 'before the first batch', status: {} },
    { name: 'before the batch has passed the gates', status: { currentBatch: 1 } },
  ])('a cluster whose batch is to come is tried there: $name', ({ status }) => {
    const after = retryInRollout(halfway({ clusters: [record('a', 'failed')], status }), all, there);
    expect(after.remediationPlan).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect(after.clusters).toEqual([]);
  });

  test('nobody who is complete, not meant, or failed before the rollout; the request is confirmed', () => {
    const before = halfway({
      clusters: [record('a', 'complete'), record('b', 'timedout'), record('z', 'failed')],
      status: { currentBatch: 2 },
    });
    expect(retryInRollout(before, { at: 't', isMeant: (cluster) => cluster !== 'b' }, there)).toEqual({
      ...before,
      lastHandledRetryAt: 't',
    });
  });
});

describe('a cluster that failed pre-caching', () => {
  const precaching = { spec: {}, status: { z: 'UnrecoverableError', y: 'PrecacheTimeout', a: 'Succeeded' } } as const;

  test('pulls again and comes in a last batch, which late ones fill up', () => {
    const before = halfway({ precaching, clusters: [record('z', 'failed'), record('y', 'failed')], status: { currentBatch: 2 } });
    const first = retryInRollout(before, { at: 't', isMeant: (cluster) => cluster === 'z' }, there);
    expect(first).toMatchObject({
      batchesAtStart: 3,
      remediationPlan: [['a', 'b'], ['c', 'd'], ['e'], ['z']],
      clusters: [record('y', 'failed')],
      precaching: { retries: { z: 1 }, status: { z: 'NotStarted', y: 'PrecacheTimeout', a: 'Succeeded' } },
    });
    expect(latePulls(first)).toEqual(['z']);
    const second = retryInRollout(first, { at: 'u', isMeant: () => true }, there);
    expect(second.remediationPlan?.slice(3)).toEqual([['z', 'y']]);
    expect(second.precaching?.retries).toEqual({ z: 1, y: 1 });
  });

  test('stays where it is when its late batch has not started, and pulls once more', () => {
    const failed = {
      ...halfway({ precaching: { spec: {}, status: { z: 'UnrecoverableError' }, retries: { z: 1 } }, clusters: [record('z', 'failed')] }),
      remediationPlan: [['a', 'b'], ['z']],
      batchesAtStart: 1,
      status: { currentBatch: 2 },
    };
    const after = retryInRollout(failed, all, there);
    expect(after).toMatchObject({ remediationPlan: [['a', 'b'], ['z']], precaching: { retries: { z: 2 }, status: { z: 'NotStarted' } } });
  });
});
