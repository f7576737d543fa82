import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { joinRollout } from './join.ts';
import { lateClusters } from './late-clusters.ts';

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
