import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { Refusal, UpgradePlan } from '@flotilla/rollout';
import { describe, expect, test } from 'vitest';
import { askBefore, askNow, findUnproven, nextProofs } from './cache-proofs.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const HOUR = 3_600_000;
const upgrade = (status: object = {}, annotations: Record<string, string> = { 'flotilla.io/proof-within': '2h' }) =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid', annotations },
    spec: { preCaching: true, remediationStrategy: { maxConcurrency: 2 } },
    status,
  });
const closed = (opensAt: number | undefined): Refusal => ({ gate: 'window', wakeAt: opensAt });
const plan = { stopped: undefined, batches: [['a', 'b'], ['c']] } as unknown as UpgradePlan;

describe('before the start', () => {
  test.each<[string, Refusal | undefined, readonly string[], number | undefined]>([
    ['a window that opens soon', closed(T0 + 1.5 * HOUR), ['a', 'b'], undefined],
    ['a window that opens later', closed(T0 + 5 * HOUR), [], T0 + 3.5 * HOUR],
    ['a window that opens nobody knows when', closed(undefined), [], undefined],
    ['another gate', { gate: 'enable' }, [], undefined],
    ['no gate: its rollout asks itself', undefined, [], undefined],
  ])('%s', (_, refusal, wanted, wakeAt) => {
    const asked = askBefore(upgrade(), plan, { refusal, talmStrict: false, now: T0 });
    expect([asked?.ask.wanted, asked?.wakeAt]).toEqual([wanted, wakeAt]);
  });
});

describe('in a rollout', () => {
  const running = (times: object, clusters: object[] = []) => upgrade({ remediationPlan: [['a', 'b'], ['c']], clusters, status: times });
  test.each<[string, ClusterGroupUpgrade, Refusal | undefined, readonly string[]]>([
    ['while clusters are prepared', running({ startedAt: '2026-01-01T00:00:00Z' }), undefined, ['a', 'b']],
    [
      'those of a batch that have begun or ended are left out',
      running({ currentBatch: 1, currentBatchRemediationProgress: { a: {} } }),
      undefined,
      ['b'],
    ],
    ['those of a batch that comes next', running({ currentBatch: 2 }, [{ name: 'a', state: 'complete' }]), undefined, ['c']],
    ['after the last batch', running({ currentBatch: 3 }), undefined, []],
    ['in a pause', running({ currentBatch: 2 }), { gate: 'pause' }, []],
    ['long before the next window', running({ currentBatch: 2 }), closed(T0 + 9 * HOUR), []],
    ['shortly before it', running({ currentBatch: 2 }), closed(T0 + HOUR), ['c']],
  ])('%s', (_, running_, refusal, wanted) => {
    expect(askNow(running_, { refusal, talmStrict: false, now: T0 })?.ask.wanted).toEqual(wanted);
  });

  test('nothing is asked without the annotation, or where the hub follows the reference', () => {
    expect(askNow(upgrade({}, {}), { refusal: undefined, talmStrict: false, now: T0 })).toBeUndefined();
    expect(askNow(upgrade(), { refusal: undefined, talmStrict: true, now: T0 })).toBeUndefined();
  });
});

test('a pass is the same until a status confirms it, whatever the jobs do meanwhile', () => {
  const stored = upgrade({ precaching: { status: { a: 'Succeeded' } } });
  const ask = { wanted: ['a'], withinMs: HOUR, hasBegun: () => false, isRetried: () => false, now: T0 };
  expect(nextProofs(stored, ask, () => true)).toEqual(nextProofs(stored, ask, () => false));
  expect(nextProofs(stored, ask, () => false)?.entries).toEqual([
    { number: 1, kind: 'prove', at: '2026-01-01T00:00:00Z', clusters: ['a'] },
  ]);
});

test('a cluster whose new job no status confirms yet is not proven by the state of the job before', () => {
  const byCluster = new Map([['a', { number: 1, kind: 'prove', at: '2026-01-01T00:00:00Z' } as const]]);
  const proofs = { byCluster, renewed: new Set(['a']), states: { a: 'Succeeded' } as const };
  expect(findUnproven('a', proofs, { withinMs: HOUR, now: T0 })?.says).toContain('waits for the proof');
});

test.each([
  ['a proof that runs', 'prove', 'Active', 'waits for the proof'],
  ['no proof yet', undefined, 'Succeeded', 'waits for the proof'],
  ['a pull', 'pull', 'Active', 'is pulled again'],
  ['a pull that failed', 'pull', 'UnrecoverableError', 'pulling it again failed'],
  ['a proof', 'prove', 'Succeeded', undefined],
  ['nothing that was pulled', undefined, undefined, undefined],
] as const)('%s is said', (_, kind, state, want) => {
  const at = '2026-01-01T00:00:00Z';
  const byCluster = new Map(kind ? [['a', { number: 1, kind, at }] as const] : []);
  const wait = findUnproven(
    'a',
    { byCluster, renewed: new Set(), states: state === undefined ? {} : { a: state } },
    { withinMs: HOUR, now: T0 },
  );
  if (want === undefined) expect(wait).toBeUndefined();
  else expect(wait?.says).toContain(want);
});
