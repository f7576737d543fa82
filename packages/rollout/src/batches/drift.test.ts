import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { chooseAgain, pullForFallen } from './drift.ts';
import { latePulls } from './late-clusters.ts';

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

describe('one that complied from the beginning and has fallen back', () => {
  const NOW = 60_000;
  test.each([
    { name: 'comes again, and pulls first', want: [['a', 'b'], ['c'], ['x']] },
    {
      name: 'comes again, and pulls first, where its pull was to be made again',
      states: { x: 'NotStarted' },
      want: [['a', 'b'], ['c'], ['x']],
    },
    { name: 'has nothing to pull', spec: undefined, want: [['a', 'b'], ['c']] },
    { name: 'has pulled already', states: { x: 'Succeeded' }, want: [['a', 'b'], ['c']] },
    { name: 'fell back a moment ago', since: NOW - 9_999, want: [['a', 'b'], ['c']] },
    { name: 'is not there', exists: () => false, want: [['a', 'b'], ['c']] },
  ])('$name', ({ states = {}, since = NOW - 10_000, exists = () => true, want, ...given }) => {
    const spec = 'spec' in given ? given.spec : {};
    const status = running({ precaching: { spec, status: { a: 'Succeeded', ...states } }, clusters: [{ name: 'x', state: 'complete' }] });
    const next = pullForFallen(status, { mode, exists, drift: { since: () => since, known: () => since } }, NOW);
    const comes = want.length === 3;
    expect([next.remediationPlan, next.clusters?.length]).toEqual([want, comes ? 0 : 1]);
    expect(latePulls(next)).toEqual(comes ? ['x'] : []);
  });

  test('is meant by the policies that were meant for it when it came', () => {
    const status = running({ precaching: { spec: {}, status: {} }, clusters: [{ name: 'x', state: 'complete' }], policyReach: [] });
    const meant = (cluster: string, index: number) => (cluster !== 'x' || index === 1 ? 'meant' : 'notMeant');
    const drift = { since: () => 0, known: () => 0 };
    const next = pullForFallen(status, { mode: { ...mode, meant } as never, exists: () => true, drift }, NOW);
    expect(next.policyReach).toEqual([{ clusters: ['x'], meant: [1], notMeant: [0] }]);
  });

  test('and complies again is left alone, and forgotten', () => {
    const status = running({ precaching: { spec: {}, status: {} }, clusters: [{ name: 'compliant', state: 'complete' }] });
    const asked: string[] = [];
    const note = (cluster: string) => asked.push(cluster);
    expect(pullForFallen(status, { mode, exists: () => true, drift: { since: note, known: note } }, NOW)).toBe(status);
    expect(asked).toEqual([]);
  });
});

test.each([
  { name: 'a canary of the batch has its part before it', current: ['canary'], want: [] },
  { name: 'the batch leaves room', current: ['a'], want: ['x'] },
  { name: 'the batch is full', current: ['a', 'b'], want: [] },
])('one is enforced again where $name', ({ current, want }) => {
  const clusters = { current, again: [], canaries: new Set(['canary']), isRecorded: () => false };
  const again = chooseAgain(clusters as never, [{ cluster: 'x', policy: 0, since: 0 }], { size: 2, forbids: undefined });
  expect(again.map(({ cluster }) => cluster)).toEqual(want);
});
