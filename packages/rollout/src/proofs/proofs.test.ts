import type { CacheProof, PrecacheState } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { advanceProofs, deferClusters, isProven, isPutOff, proofsOf } from './proofs.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const HOUR = 3_600_000;
const at = (ms: number) => new Date(T0 + ms).toISOString().replace('.000Z', 'Z');
const entry = (number: number, kind: CacheProof['kind'], clusters: string[], age = 0): CacheProof => ({
  number,
  kind,
  at: at(-age),
  clusters,
});

function advance(
  proofs: CacheProof[] | undefined,
  states: Readonly<Record<string, PrecacheState>>,
  wanted: readonly string[],
  more: { readonly over?: readonly string[]; readonly retried?: readonly string[] } = {},
) {
  return advanceProofs({
    proofs,
    stateOf: (cluster) => states[cluster],
    wanted,
    isOver: (cluster) => more.over?.includes(cluster) ?? false,
    isRetried: (cluster) => more.retried?.includes(cluster) ?? false,
    withinMs: HOUR,
    now: T0,
  });
}

test.each<{ name: string; proof?: CacheProof; state?: PrecacheState; retried?: true; want: CacheProof['kind'] | undefined }>([
  { name: 'what was pulled is proven', state: 'Succeeded', want: 'prove' },
  { name: 'what is still pulled is not', state: 'Active', want: undefined },
  { name: 'a cluster without a pull has nothing to prove', want: undefined },
  { name: 'a proof that runs goes on', proof: entry(3, 'prove', ['a']), state: 'Active', want: undefined },
  { name: 'a proof that is young suffices', proof: entry(3, 'prove', ['a'], HOUR), state: 'Succeeded', want: undefined },
  { name: 'an old one is made anew', proof: entry(3, 'prove', ['a'], HOUR + 1_000), state: 'Succeeded', want: 'prove' },
  {
    name: 'an old one that runs goes on: its verdict comes first',
    proof: entry(3, 'prove', ['a'], 2 * HOUR),
    state: 'Active',
    want: undefined,
  },
  { name: 'what is missing is pulled again', proof: entry(3, 'prove', ['a']), state: 'UnrecoverableError', want: 'pull' },
  {
    name: 'a proof without an answer has found nothing missing, and is made anew',
    proof: entry(3, 'prove', ['a']),
    state: 'PrecacheTimeout',
    want: 'prove',
  },
  { name: 'what was pulled again is proven', proof: entry(3, 'pull', ['a'], 5 * HOUR), state: 'Succeeded', want: 'prove' },
  { name: 'a pull that failed waits for somebody', proof: entry(3, 'pull', ['a']), state: 'UnrecoverableError', want: undefined },
  { name: 'and is tried again on demand', proof: entry(3, 'pull', ['a']), state: 'UnrecoverableError', retried: true, want: 'pull' },
])('$name', ({ proof, state, retried, want }) => {
  const { byCluster, renewed } = advance(proof && [proof], state ? { a: state } : {}, ['a'], { retried: retried ? ['a'] : [] });
  expect(renewed.has('a') ? byCluster.get('a')?.kind : undefined).toBe(want);
  if (want) expect(byCluster.get('a')).toEqual({ number: (proof?.number ?? 0) + 1, kind: want, at: at(0) });
  else expect(byCluster.get('a')).toEqual(proof && proofsOf([proof]).get('a'));
});

test.each<[string, CacheProof['kind'] | undefined, PrecacheState | undefined, boolean]>([
  ['pulls again', 'pull', 'Active', true],
  ['had no answer to its proof', 'prove', 'PrecacheTimeout', true],
  ['is about to be proven', 'prove', undefined, false],
  ['has no job', undefined, 'PrecacheTimeout', false],
])('others wait for a cluster or not: one that %s', (_, kind, state, want) => {
  expect(isPutOff(kind && { number: 1, kind, at: at(0) }, state)).toBe(want);
});

test('a pass is the same until a status confirms it', () => {
  const states = { a: 'Succeeded', b: 'Succeeded' } as const;
  expect(advance(undefined, states, ['a', 'b'])).toEqual(advance(undefined, states, ['a', 'b']));
  expect(advance(undefined, states, ['a', 'b']).entries).toEqual([entry(1, 'prove', ['a', 'b'])]);
});

test('a cluster keeps its job until nothing is left of it, and no number is used twice', () => {
  const before = [entry(1, 'prove', ['a']), entry(2, 'pull', ['b'])];
  const states = { a: 'Succeeded', b: 'Active' } as const;
  expect(advance(before, states, []).entries).toEqual(before);
  expect(advance(before, states, [], { over: ['a'] }).entries).toEqual([before[1]]);
  const empty = advance(before, states, [], { over: ['a', 'b'] }).entries;
  expect(empty).toEqual([{ ...before[1], clusters: [] }]);
  expect(advance(empty, { c: 'Succeeded' }, ['c']).entries).toEqual([entry(3, 'prove', ['c']), ...[]]);
});

test('only a proof that succeeded lets a cluster begin, and only while it is young', () => {
  const within = { withinMs: HOUR, now: T0 };
  const { number, kind, at: time } = entry(1, 'prove', []);
  const proof = { number, kind, at: time };
  expect(isProven(proof, 'Succeeded', within)).toBe(true);
  expect(isProven(proof, 'Succeeded', { ...within, now: T0 + HOUR + 1 })).toBe(false);
  expect(isProven(proof, 'Active', within)).toBe(false);
  expect(isProven({ ...proof, kind: 'pull' }, 'Succeeded', within)).toBe(false);
  expect(isProven(undefined, 'Succeeded', within)).toBe(false);
});

const running = (remediationPlan: string[][], currentBatch: number, progress: Record<string, object> = {}) => ({
  remediationPlan,
  computedMaxConcurrency: 2,
  status: { currentBatch, currentBatchStartedAt: at(0), currentBatchRemediationProgress: progress },
});
const planAfter = (status: ReturnType<typeof running>, restored: readonly string[], canaries?: readonly string[]) =>
  deferClusters(status, { isLater: (cluster) => restored.includes(cluster), isAbsent: (cluster) => cluster === 'absent', canaries })
    .remediationPlan;

test('clusters that pull again come last, as many at a time as a batch has', () => {
  const plan = [
    ['a', 'b'],
    ['c', 'd'],
  ];
  expect(planAfter(running(plan, 1), ['a'])).toEqual([['b'], ['c', 'd'], ['a']]);
  expect(planAfter(running([['b'], ['c', 'd'], ['a', 'e']], 2), ['a', 'c', 'd'])).toEqual([['b'], [], ['a', 'e'], ['c', 'd']]);
});

test.each([
  ['in the last batch', running([['a'], ['b']], 2), ['b'], []],
  ['that is a canary', running([['a'], ['b']], 1), ['a'], ['a']],
  ['whose part has begun', running([['a', 'b'], ['c']], 1, { a: { state: 'InProgress' } }), ['a'], []],
  ['behind whom all are pulled again too', running([['a'], ['b', 'c']], 1), ['a', 'b', 'c'], []],
  ['behind whom all are absent or pulled again', running([['a'], ['b', 'absent']], 1), ['a', 'b'], []],
  ['before its batch', running([['a'], ['b']], 1), ['b'], []],
])('a cluster %s stays in its place', (_, status, restored, canaries) => {
  expect(planAfter(status, restored, canaries)).toEqual(status.remediationPlan);
});
