import { ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { openGates } from '../../testing/gate-builders.ts';
import { batchGatesOf } from '../gates/gates.ts';
import type { RolloutMode, RolloutObservation, Standing } from '../upgrade/model.ts';
import type { Wait } from '../waits/wait.ts';
import { type Advance, type AdvanceInput, advanceRollout } from './advance.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** Standings by cluster: `pending` unless said otherwise, as a list by index or the same for all. */
type Standings = Readonly<Record<string, Standing | readonly Standing[]>>;

const modeOf = (
  standings: Standings,
  { kind = 'policy', count = 1, soak = 0 }: { kind?: RolloutMode['kind']; count?: number; soak?: number } = {},
): RolloutMode => ({
  kind,
  count,
  standing: (cluster, index) => {
    const found = standings[cluster] ?? 'pending';
    return typeof found === 'string' ? found : (found[index] ?? 'pending');
  },
  name: (index) => `p${index}`,
  soakSeconds: () => soak,
  detail: (_, index) => ({ currentPolicy: { name: `p${index}`, status: 'NonCompliant' } }),
});

interface Given {
  readonly plan?: string[][];
  readonly standings?: Standings;
  readonly mode?: Parameters<typeof modeOf>[1];
  readonly status?: Partial<ClusterGroupUpgradeStatus['status']>;
  readonly clusters?: ClusterGroupUpgradeStatus['clusters'];
  readonly messages?: ClusterGroupUpgradeStatus['messages'];
  readonly precaching?: ClusterGroupUpgradeStatus['precaching'];
  readonly strategy?: Partial<ClusterGroupUpgradeSpec['remediationStrategy']>;
  readonly action?: string;
  readonly observed?: Partial<RolloutObservation>;
  readonly window?: AdvanceInput['gates']['window'];
  /** Annotations by which its gates are judged. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** After the start. */
  readonly minutes?: number;
  readonly talmStrict?: boolean;
  readonly otherVersion?: Wait | undefined;
}

function advance(given: Given): Advance {
  const { plan = [['a', 'b'], ['c']], standings = {}, mode, strategy, action, observed, window = { kind: 'open' }, minutes = 0 } = given;
  const spec = ClusterGroupUpgradeSpec.parse({
    remediationStrategy: { maxConcurrency: 2, timeout: 60, ...strategy },
    batchTimeoutAction: action,
  });
  const status = ClusterGroupUpgradeStatus.parse({
    remediationPlan: plan.length > 0 ? plan : undefined,
    clusters: given.clusters,
    messages: given.messages,
    precaching: given.precaching,
    status: { startedAt: iso(T0), ...given.status },
  });
  const observation: RolloutObservation = {
    mode: modeOf(standings, mode),
    exists: () => true,
    isPrepared: () => true,
    isEdited: () => true,
    placementProblem: undefined,
    problem: () => undefined,
    ...observed,
  };
  const now = T0 + minutes * MINUTE;
  const gates = given.annotations
    ? batchGatesOf({ metadata: { name: 'u', annotations: { ...given.annotations } } }, { now, talmStrict: false })
    : { ...openGates, window, otherVersion: given.otherVersion };
  return advanceRollout({ spec, status, observation, gates, now, talmStrict: given.talmStrict ?? false });
}

const running = (batch: number, progress: Record<string, object> = {}, minutes = 0): Given['status'] => ({
  currentBatch: batch,
  currentBatchStartedAt: iso(T0 + minutes * MINUTE),
  currentBatchRemediationProgress: progress,
});
const at = (policyIndex: number) => ({ state: 'InProgress', policyIndex });
const DONE = { state: 'Completed' };
const progressOf = (result: Advance) => result.status.currentBatchRemediationProgress;
const records = (result: Advance) => result.clusters.map(({ name, state }) => `${name} ${state}`);
const verdict = ({ succeeded }: Advance) => succeeded && `${succeeded.status} ${succeeded.reason}: ${succeeded.message}`;
const progressing = ({ progressing: p }: Advance) => `${p.status} ${p.reason}: ${p.message}`;

const drift = { since: () => T0, known: () => undefined };
const IN_PROGRESS = 'True InProgress: Remediating non-compliant policies';
const COMPLIANT = 'Completed: All clusters are compliant with all the managed policies';
const TOO_LONG = 'False TimedOut: Policy remediation took too long';

describe('waits', () => {
  const held: Wait = { cause: 'policy', says: 'policy p is not there', since: T0 };
  const said = 'waits (policy) since 2026-01-01T00:00:00Z: policy p is not there';

  test('of a cluster are told while it is open, and kept in its record when its time is over', () => {
    const observed = { wait: (cluster?: string) => (cluster === 'a' ? held : undefined) };
    const waiting = advance({ status: running(1), observed });
    expect([waiting.messages, progressing(waiting)]).toEqual([{ a: said }, `${IN_PROGRESS} (cluster a: ${said})`]);
    const late = advance({ status: running(1), observed, standings: { b: 'done' }, minutes: 30, action: 'Abort' });
    expect([late.messages, late.clusters.find(({ name }) => name === 'a')?.message]).toEqual([{}, said]);
  });

  test('of the whole upgrade are told under a key of their own', () => {
    const result = advance({ observed: { wait: (cluster) => (cluster === undefined ? held : undefined) } });
    expect([result.messages, progressing(result)]).toEqual([{ '(upgrade)': said }, `${IN_PROGRESS} (${said})`]);
  });
});

describe('a cluster of which nobody can say whether it complies', () => {
  const held = { cause: 'policy', says: 'policy p no longer reaches a: it is disabled', fix: 'enable it' } as const;
  const withWait = (standings: Standings, more: Parameters<typeof modeOf>[1] = {}): Partial<RolloutObservation> => ({
    mode: { ...modeOf(standings, more), wait: (cluster) => (cluster === 'a' ? held : undefined), meant: () => 'meant' },
  });
  const UNSEEN: Standings = { a: 'unseen', b: 'done', c: 'done' };

  test('is held, and told with its time-out; the next batch does not start', () => {
    const result = advance({ status: running(1, { a: at(0) }), observed: withWait(UNSEEN), minutes: 5 });
    expect([records(result), progressOf(result)]).toEqual([['b complete'], { a: at(0), b: DONE }]);
    expect(result.messages).toEqual({
      a: 'waits (policy) since 2026-01-01T00:05:00Z until 2026-01-01T00:30:00Z at the latest: policy p no longer reaches a: it is disabled; to go on: enable it',
    });
  });

  test('is told since when that has been so', () => {
    const before = advance({ status: running(1, { a: at(0) }), observed: withWait(UNSEEN), minutes: 5 });
    const later = advance({ status: running(1, { a: at(0) }), observed: withWait(UNSEEN), minutes: 9, messages: before.messages });
    expect(later.messages).toEqual(before.messages);
  });

  test('does not soak: it begins anew', () => {
    const soaking = { a: { ...at(0), firstCompliantAt: iso(T0) } };
    const result = advance({ status: running(1, soaking), observed: withWait(UNSEEN, { soak: 600 }), minutes: 5 });
    expect(progressOf(result)?.a).toEqual(at(0));
  });

  test('ends with the time of its batch, and keeps why', () => {
    const result = advance({ status: running(1, { a: at(0) }), observed: withWait(UNSEEN), minutes: 30, action: 'Abort' });
    expect([records(result), verdict(result)]).toEqual([['a timedout', 'b complete'], `${TOO_LONG} on some clusters`]);
    expect(result.clusters.find(({ name }) => name === 'a')?.message).toMatch(
      /: policy p no longer reaches a: it is disabled; to go on: enable it$/,
    );
  });

  test('is no success at the end, when it timed out before; one that was complete is', () => {
    const clusters = ['a', 'b', 'c'].map((name) => ({ name, state: name === 'a' ? 'timedout' : 'complete' }));
    const given = { status: { currentBatch: 2, currentBatchStartedAt: iso(T0) }, clusters, minutes: 5 };
    const left = advance({ ...given, observed: { ...withWait(UNSEEN), drift } });
    expect([verdict(left), Object.keys(left.messages)]).toEqual([undefined, ['a']]);
    const whole = advance({
      ...given,
      clusters: clusters.map((each) => ({ ...each, state: 'complete' })),
      observed: { ...withWait(UNSEEN), drift },
    });
    expect(verdict(whole)).toBe(`True ${COMPLIANT}`);
  });

  test('that was away all the time is recorded as that', () => {
    const away = (cluster: string) => ({ cause: 'cluster-unavailable', says: `${cluster} is not available` }) as const;
    const result = advance({ plan: [['a']], status: running(1, { a: at(0) }), observed: { away }, minutes: 60 });
    expect(result.clusters[0]?.message).toBe('waits (cluster-unavailable): a is not available');
  });

  test('that no policy is meant for is complete, which is said in its record and at the end', () => {
    const mode = { ...modeOf({ a: 'notMatched', b: 'done' }), meant: () => 'meant' as const };
    const result = advance({ plan: [['a', 'b']], status: running(1, { a: at(0), b: at(0) }), observed: { mode } });
    expect(result.clusters).toContainEqual({ name: 'a', state: 'complete', message: 'no policy of the upgrade is placed on it' });
    expect(verdict(result)).toBe(`True ${COMPLIANT}; none of them is placed on 1 of the clusters (status.clusters), the first is a`);
  });
});

describe('before the first batch', () => {
  test('clusters that still have to be prepared are waited for, and the clock runs', () => {
    const result = advance({ observed: { isPrepared: (cluster) => cluster !== 'c' } });
    expect(result.status).toEqual({ startedAt: iso(T0) });
    expect(progressing(result)).toBe(IN_PROGRESS);
    expect(result.wakeAt).toBe(T0 + 60 * MINUTE);
  });

  test('the first batch starts in the pass that sees the last cluster prepared', () => {
    const result = advance({ minutes: 1 });
    expect(result.status).toEqual({ startedAt: iso(T0), ...running(1, { a: at(0), b: at(0) }, 1) });
    expect(records(result)).toEqual([]);
  });

  test('clusters that comply already are recorded when their last edits are seen', () => {
    const status = { currentBatchRemediationProgress: { x: DONE, y: DONE } };
    const waiting = advance({ status, observed: { isEdited: (cluster) => cluster === 'x' } });
    expect([records(waiting), waiting.status]).toEqual([['x complete'], { startedAt: iso(T0), ...status }]);
    const going = advance({ status });
    expect(records(going)).toEqual(['x complete', 'y complete']);
    expect(progressOf(going)).toEqual({ a: at(0), b: at(0) });
  });

  test('without a plan the upgrade is done once those are recorded', () => {
    const result = advance({ plan: [], status: { currentBatchRemediationProgress: { x: DONE } } });
    expect(verdict(result)).toBe('True Completed: All clusters already compliant with the specified managed policies');
    expect(progressing(result)).toBe(`False ${COMPLIANT}`);
    expect(records(result)).toEqual(['x complete']);
  });

  test('clusters that cannot be prepared in time are recorded', () => {
    const result = advance({ observed: { isPrepared: (cluster) => cluster === 'a' }, minutes: 60 });
    expect([verdict(result), progressing(result)]).toEqual([TOO_LONG, TOO_LONG]);
    expect(records(result)).toEqual(['b timedout', 'c timedout']);
  });
});

describe('a batch', () => {
  test.each<{ name: string; given: Given; want: Record<string, object> }>([
    { name: 'a cluster stays at a policy that is pending', given: { standings: { b: 'done' } }, want: { a: at(0), b: DONE } },
    {
      name: 'a cluster moves to the first policy that is pending, past those that are not placed on it',
      given: { standings: { a: ['done', 'notMatched', 'pending'] }, mode: { count: 3 } },
      want: { a: at(2), b: at(0) },
    },
    {
      name: 'a cluster never goes back',
      given: { status: running(1, { a: at(1), b: at(0) }), mode: { count: 2 } },
      want: { a: at(1), b: at(0) },
    },
    { name: 'completed is for good', given: { status: running(1, { a: DONE, b: at(0) }), standings: {} }, want: { a: DONE, b: at(0) } },
    {
      name: 'templates have an index of their own',
      given: { mode: { kind: 'manifestWork', count: 2 }, standings: { a: ['done', 'pending'] } },
      want: { a: { state: 'InProgress', manifestWorkIndex: 1 }, b: { state: 'InProgress', manifestWorkIndex: 0 } },
    },
  ])('$name', ({ given, want }) => expect(progressOf(advance(given))).toEqual(want));

  test('hands over to the next one in one pass, through batches that have nothing to do', () => {
    const given = {
      plan: [['a'], ['b'], ['c']],
      status: running(1, { a: at(0) }),
      standings: { a: 'done', b: 'done' } as const,
      minutes: 5,
    };
    const result = advance(given);
    expect(result.status).toEqual({ startedAt: iso(T0), ...running(3, { c: at(0) }, 5) });
    expect(records(result)).toEqual(['a complete', 'b complete']);
  });

  test('waits for the last edits of its clusters', () => {
    const given = { status: running(1, { a: at(0), b: at(0) }), standings: { a: 'done', b: 'done' } as const };
    const result = advance({ ...given, observed: { isEdited: (cluster) => cluster === 'a' } });
    expect([records(result), result.status.currentBatch]).toEqual([['a complete'], 1]);
    expect(advance(given).status.currentBatch).toBe(2);
  });

  test('all done: the upgrade has succeeded', () => {
    const clusters = [
      { name: 'a', state: 'complete' },
      { name: 'b', state: 'complete' },
    ];
    const result = advance({ status: running(2, { c: at(0) }), clusters, standings: { a: 'done', b: 'notMatched', c: 'done' } });
    expect([verdict(result), progressing(result), result.wakeAt]).toEqual([`True ${COMPLIANT}`, `False ${COMPLIANT}`, undefined]);
    expect(records(result)).toEqual(['a complete', 'b complete', 'c complete']);
  });

  test('WaitingForPlacement is said of any batch, and taken back', () => {
    const given = { plan: [['a']], status: running(1, { a: at(0) }) };
    const problem = 'Placement "x" in namespace "y" cannot select clusters: why.';
    expect(progressing(advance({ ...given, observed: { placementProblem: problem } }))).toBe(`True WaitingForPlacement: ${problem}`);
    expect(progressing(advance(given))).toBe(IN_PROGRESS);
  });
});

describe('soak', () => {
  const given: Given = { plan: [['a']], mode: { count: 2, soak: 30 }, standings: { a: ['done', 'pending'] } };

  test('a compliant policy is held until it was compliant for long enough, and the pass wakes exactly then', () => {
    const first = advance({ ...given, status: running(1), minutes: 1 });
    expect(progressOf(first)).toEqual({ a: { ...at(0), firstCompliantAt: iso(T0 + MINUTE) } });
    expect(first.wakeAt).toBe(T0 + MINUTE + 31_000);
    const still = advance({ ...given, status: first.status, minutes: 1 + 30.9 / 60 });
    expect(progressOf(still)).toEqual(progressOf(first));
    expect(progressOf(advance({ ...given, status: first.status, minutes: 1 + 31 / 60 }))).toEqual({ a: at(1) });
  });

  test('begins again when the policy is lost meanwhile', () => {
    const status = running(1, { a: { ...at(0), firstCompliantAt: iso(T0) } });
    expect(progressOf(advance({ ...given, standings: {}, status, minutes: 1 }))).toEqual({ a: at(0) });
  });

  test('begins again when the clock has stepped back behind its beginning', () => {
    const status = running(1, { a: { ...at(0), firstCompliantAt: iso(T0 + 60 * MINUTE) } });
    const result = advance({ ...given, status, minutes: 1 });
    expect(progressOf(result)).toEqual({ a: { ...at(0), firstCompliantAt: iso(T0 + MINUTE) } });
    expect(result.wakeAt).toBe(T0 + MINUTE + 31_000);
  });

  test('a policy that is not placed on a cluster does not soak', () => {
    expect(progressOf(advance({ ...given, standings: { a: ['notMatched', 'pending'] }, status: running(1) }))).toEqual({ a: at(1) });
  });
});

describe('time', () => {
  test('a batch has its share of what is left; on Continue its unfinished clusters are recorded and the next one starts', () => {
    const given = {
      status: running(1, { a: at(0), b: DONE }),
      clusters: [{ name: 'b', state: 'complete' }],
      standings: { b: 'done' } as const,
    };
    const early = advance({ ...given, minutes: 29.99 });
    expect([early.wakeAt, early.status.currentBatch]).toEqual([T0 + 30 * MINUTE, 1]);
    const late = advance({ ...given, minutes: 30 });
    expect(late.clusters).toEqual([
      { name: 'b', state: 'complete' },
      { name: 'a', state: 'timedout', currentPolicy: { name: 'p0', status: 'NonCompliant' } },
    ]);
    expect(late.status).toEqual({ startedAt: iso(T0), ...running(2, { c: at(0) }, 30) });
    expect(progressing(late)).toBe(IN_PROGRESS);
  });

  test.each([
    { name: 'Abort ends the upgrade with the batch', given: { action: 'Abort', minutes: 30 }, want: `${TOO_LONG} on some clusters` },
    {
      name: 'a canary that is late ends it, whatever the action',
      given: { strategy: { canaries: ['a', 'b'] }, minutes: 30 },
      want: `${TOO_LONG} on canary clusters`,
    },
    { name: 'its own time ends it', given: { status: running(2, { c: at(0) }), minutes: 60 }, want: TOO_LONG },
    {
      name: 'a canary in the last batch is still a canary',
      given: { plan: [['c']], strategy: { canaries: ['c'] }, minutes: 60 },
      want: `${TOO_LONG} on canary clusters`,
    },
    { name: 'a timeout of 0 ends it at once', given: { strategy: { timeout: 0 } }, want: TOO_LONG },
  ])('$name', ({ given, want }) => {
    const result = advance({ status: running(1, { a: at(0), b: at(0) }), ...given });
    expect([verdict(result), progressing(result)]).toEqual([want, want]);
    expect(result.clusters.length).toBeGreaterThan(0);
    for (const record of result.clusters) expect(record).toMatchObject({ state: 'timedout', currentPolicy: { status: 'NonCompliant' } });
  });

  test('a normal batch is not judged as a canary because canaries complied already', () => {
    const result = advance({ status: running(1, { a: at(0), b: at(0) }), strategy: { canaries: ['x'] }, minutes: 30 });
    expect([verdict(result), result.status.currentBatch]).toEqual([undefined, 2]);
  });

  test('what is seen to be done counts, even when it is seen late', () => {
    const result = advance({ plan: [['a']], status: running(1, { a: at(0) }), standings: { a: 'done' }, minutes: 500 });
    expect(verdict(result)).toBe(`True ${COMPLIANT}`);
  });

  test('who is through by the deadline gets its last edits and counts, and who is not is recorded meanwhile', () => {
    const late = { status: running(1, { a: at(0), b: at(0) }), standings: { a: 'done' } as const, minutes: 31 };
    const waiting = advance({ ...late, observed: { isEdited: () => false } });
    expect([records(waiting), waiting.status.currentBatch, verdict(waiting)]).toEqual([['b timedout'], 1, undefined]);
    const edited = advance({ ...late, status: waiting.status, clusters: [...waiting.clusters] });
    expect([records(edited), edited.status.currentBatch]).toEqual([['b timedout', 'a complete'], 2]);
  });

  test.each<{ name: string; given: Given; want: string | undefined }>([
    { name: 'a canary that is through goes on', given: { strategy: { canaries: ['a', 'b'] } }, want: undefined },
    { name: 'a batch that is through does not abort', given: { action: 'Abort' }, want: undefined },
    { name: 'the last batch succeeds', given: { plan: [['a', 'b']] }, want: `True ${COMPLIANT}` },
  ])('seen after the deadline, with last edits to be made: $name', ({ given, want }) => {
    const late: Given = { status: running(1, { a: at(0), b: at(0) }), standings: { a: 'done', b: 'done' }, minutes: 59, ...given };
    const minutes = given.plan ? 61 : 59;
    const waiting = advance({ ...late, minutes, observed: { isEdited: () => false } });
    expect([records(waiting), verdict(waiting), progressOf(waiting)]).toEqual([[], undefined, { a: DONE, b: DONE }]);
    expect(waiting.wakeAt).toBeGreaterThan(T0 + minutes * MINUTE);
    const edited = advance({ ...late, minutes, status: waiting.status });
    expect([records(edited).slice(0, 2), verdict(edited)]).toEqual([['a complete', 'b complete'], want]);
  });

  test('one of a batch that timed out while another was edited still aborts, and still is the canaries end', () => {
    const given: Given = { status: running(1, { a: DONE, b: at(0) }), clusters: [{ name: 'b', state: 'timedout' }], minutes: 31 };
    expect(verdict(advance({ ...given, action: 'Abort' }))).toBe(`${TOO_LONG} on some clusters`);
    expect(verdict(advance({ ...given, strategy: { canaries: ['a', 'b'] } }))).toBe(`${TOO_LONG} on canary clusters`);
  });

  test('clusters that complied from the beginning get their last edits after the deadline too', () => {
    const given: Given = { plan: [], status: { currentBatchRemediationProgress: { x: DONE } }, minutes: 61 };
    expect(verdict(advance({ ...given, observed: { isEdited: () => false } }))).toBeUndefined();
    expect(records(advance(given))).toEqual(['x complete']);
  });

  test('last edits that cannot be made end the waiting for them at the deadline, and say why', () => {
    const problem = () => ({ message: 'ManagedCluster a: time-out', isRefused: false });
    const result = advance({
      plan: [['a']],
      status: running(1, { a: DONE }),
      minutes: 60,
      observed: { isEdited: () => false, problem },
    });
    expect([result.clusters, verdict(result)]).toEqual([
      [{ name: 'a', state: 'timedout', message: 'ManagedCluster a: time-out' }],
      TOO_LONG,
    ]);
  });

  test('timeout and action are those of the spec now', () => {
    const given = { status: running(1, { a: at(0), b: at(0) }), minutes: 30 };
    expect(advance({ ...given, strategy: { timeout: 120 } }).wakeAt).toBe(T0 + 60 * MINUTE);
    expect(verdict(advance({ ...given, action: 'Abort' }))).toBe(`${TOO_LONG} on some clusters`);
  });
});

describe('the last batch looks back', () => {
  const clusters = [
    { name: 'a', state: 'complete' },
    { name: 'b', state: 'timedout' },
  ];
  const given: Given = { status: running(2, { c: at(0) }), clusters, standings: { a: 'done', c: 'done' } };

  test('and waits for who timed out before, until the time is up', () => {
    const waiting = advance({ ...given, minutes: 59 });
    expect([verdict(waiting), records(waiting), waiting.wakeAt]).toEqual([
      undefined,
      ['a complete', 'b timedout', 'c complete'],
      T0 + 60 * MINUTE,
    ]);
    expect(verdict(advance({ ...given, minutes: 60 }))).toBe(TOO_LONG);
  });

  test('and succeeds when they got there after all', () => {
    expect(verdict(advance({ ...given, standings: { a: 'done', b: 'done', c: 'done' } }))).toBe(`True ${COMPLIANT}`);
  });

  test('and waits for who has lost it again', () => {
    expect(verdict(advance({ ...given, standings: { b: 'done', c: 'done' } }))).toBeUndefined();
  });

  test('but not with ManifestWorks, which are gone by then: who timed out did not get there', () => {
    const works: Given = { ...given, mode: { kind: 'manifestWork' } };
    const result = advance(works);
    const want = 'False TimedOut: Manifestwork rollout took too long on some clusters';
    expect([verdict(result), progressing(result)]).toEqual([want, want]);
    expect(verdict(advance({ ...works, talmStrict: true }))).toBe(
      'True Completed: All manifestworks rolled out successfully on all clusters',
    );
  });

  test('and takes who timed out and is no ManagedCluster any more for lost', () => {
    const gone: Given = { ...given, observed: { exists: (cluster) => cluster !== 'b' } };
    expect(verdict(advance(gone))).toBe(`${TOO_LONG} on some clusters`);
    expect(verdict(advance({ ...gone, talmStrict: true }))).toBe(`True ${COMPLIANT}`);
  });
});

describe('errors that last', () => {
  const REFUSED = { message: 'ManagedCluster a: forbidden', isRefused: true };
  const refuses = (name: string): Partial<RolloutObservation> => ({
    isPrepared: (cluster) => cluster !== name,
    isEdited: (cluster) => cluster !== name,
    problem: (cluster) => (cluster === name ? REFUSED : undefined),
  });

  test('a cluster whose first edits are refused is recorded, and all others start', () => {
    const result = advance({ observed: refuses('a') });
    expect(result.clusters).toEqual([{ name: 'a', state: 'failed', message: REFUSED.message }]);
    expect([progressOf(result), verdict(result)]).toEqual([{ b: at(0) }, undefined]);
  });

  test('a cluster whose last edits are refused is recorded, and the next batch starts', () => {
    const given: Given = { status: running(1, { a: at(0), b: at(0) }), standings: { a: 'done', b: 'done' } };
    const result = advance({ ...given, observed: refuses('a') });
    expect([records(result), result.status.currentBatch]).toEqual([['a failed', 'b complete'], 2]);
  });

  test('the upgrade is no success then', () => {
    const clusters = [{ name: 'a', state: 'failed', message: REFUSED.message }];
    const given: Given = { plan: [['a'], ['b']], clusters, status: running(2, { b: at(0) }), standings: { a: 'done', b: 'done' } };
    const why = `1 of 2 clusters failed (status.clusters), the first is a: ${REFUSED.message}`;
    expect([verdict(advance(given)), progressing(advance(given))]).toEqual([`False PartiallyDone: ${why}`, `False Completed: ${why}`]);
    expect(verdict(advance({ ...given, talmStrict: true }))).toBe(`False Failed: ${why}`);
  });

  test('nor where the refused cluster complied from the beginning', () => {
    const clusters = [{ name: 'x', state: 'failed', message: REFUSED.message }];
    const given: Given = { plan: [], clusters, status: { currentBatchRemediationProgress: { x: DONE, y: DONE } } };
    expect(verdict(advance(given))).toBe(
      `False PartiallyDone: 1 of 2 clusters failed (status.clusters), the first is x: ${REFUSED.message}`,
    );
    expect(verdict(advance({ ...given, talmStrict: true }))).toBe(
      'True Completed: All clusters already compliant with the specified managed policies',
    );
  });

  test('a canary that cannot be edited ends it', () => {
    const result = advance({ strategy: { canaries: ['a'] }, plan: [['a'], ['b']], observed: refuses('a') });
    expect(verdict(result)).toBe(`False Failed: Canary cluster a failed: ${REFUSED.message}`);
  });

  test('others are told in Progressing and by cluster while they last, and with the record of a cluster that timed out', () => {
    const taken = { message: 'ManifestWork b/x belongs to somebody', isRefused: false };
    const given: Given = {
      status: running(1, { a: at(0), b: at(0) }),
      observed: { problem: (cluster) => (cluster === undefined ? undefined : taken) },
    };
    const waiting = advance(given);
    expect(waiting.messages).toEqual({ a: taken.message, b: taken.message });
    expect(progressing(waiting)).toBe(`${IN_PROGRESS} (cluster a: ${taken.message}; 1 more in status.messages)`);
    const over = advance({ ...given, observed: {} });
    expect([over.messages, progressing(over)]).toEqual([{}, IN_PROGRESS]);
    expect(advance({ ...given, minutes: 30 }).clusters[0]).toMatchObject({ name: 'a', state: 'timedout', message: taken.message });
  });

  test('those of the Placements are told first', () => {
    const problem: RolloutObservation['problem'] = (cluster) => ({ message: cluster ?? 'Placement p/x is forbidden', isRefused: true });
    const result = advance({ status: running(1, { a: at(0) }), plan: [['a']], observed: { problem } });
    expect(progressing(result)).toBe(`${IN_PROGRESS} (Placement p/x is forbidden)`);
  });
});

describe('a cluster that is no ManagedCluster any more', () => {
  test('is recorded, and the rest goes on', () => {
    const result = advance({
      status: running(1, { a: at(0), b: at(0) }),
      standings: { b: 'done' },
      observed: { exists: (cluster) => cluster !== 'a' },
    });
    expect([records(result), result.status.currentBatch]).toEqual([['a failed', 'b complete'], 2]);
  });

  test('is recorded before its batch too, and not waited for at the end', () => {
    const gone = advance({ status: running(1, { a: at(0), b: at(0) }), observed: { exists: (cluster) => cluster !== 'c' } });
    expect(records(gone)).toEqual(['c failed']);
  });

  test.each(['policy', 'manifestWork'] as const)('makes the end a partial one, by %s', (kind) => {
    const given: Given = {
      mode: { kind },
      status: running(2, { c: at(0) }),
      clusters: [
        { name: 'a', state: 'failed', message: 'it is no longer a ManagedCluster' },
        { name: 'b', state: 'complete' },
      ],
      standings: { b: 'done', c: 'done' },
      observed: { exists: (cluster) => cluster !== 'a' },
    };
    const why = '1 of 3 clusters failed (status.clusters), the first is a: it is no longer a ManagedCluster';
    expect([verdict(advance(given)), progressing(advance(given))]).toEqual([`False PartiallyDone: ${why}`, `False Completed: ${why}`]);
    expect(verdict(advance({ ...given, talmStrict: true }))).toMatch(/^True Completed/);
  });

  test('ends the upgrade when it is a canary', () => {
    const result = advance({
      strategy: { canaries: ['a'] },
      plan: [['a'], ['b']],
      status: running(1, { a: at(0) }),
      observed: { exists: (cluster) => cluster !== 'a' },
    });
    expect(verdict(result)).toBe('False Failed: Canary cluster a is no longer a ManagedCluster');
    expect(records(result)).toEqual(['a failed']);
  });

  test('ends the upgrade when it was the last one left', () => {
    const result = advance({
      status: running(2, { c: at(0) }),
      clusters: [
        { name: 'a', state: 'failed' },
        { name: 'b', state: 'failed' },
      ],
      observed: { exists: () => false },
    });
    expect(verdict(result)).toBe('False Failed: No clusters available for remediation (none of them is a ManagedCluster any more)');
  });
});

describe('a cluster that failed pre-caching', () => {
  const given: Given = { plan: [['a']], status: running(1, { a: at(0) }), standings: { a: 'done' } };
  const clusters = [{ name: 'x', state: 'failed' }];

  test('before the start keeps the end from being a success, in the words of its puller', () => {
    const precaching = { status: { a: 'Succeeded', x: 'UnrecoverableError' } as const, messages: { x: 'registry said 401' } };
    expect(verdict(advance({ ...given, clusters, precaching }))).toBe(
      'False PartiallyDone: 1 of 2 clusters failed (status.clusters), the first is x: registry said 401',
    );
  });

  test('is no part of the verdict of the reference', () => {
    expect(verdict(advance({ ...given, clusters, talmStrict: true }))).toBe(`True ${COMPLIANT}`);
  });

  test('and was tried again after the start counts too', () => {
    const precaching = { status: { a: 'Succeeded', b: 'PrecacheTimeout' } as const };
    const again: Given = { ...given, plan: [['a'], ['b']], status: running(2), clusters: [{ name: 'b', state: 'failed' }], precaching };
    const done = { ...again, clusters: [{ name: 'a', state: 'complete' }, ...(again.clusters ?? [])] };
    expect(verdict(advance(done))).toBe('False PartiallyDone: 1 of 2 clusters failed (status.clusters), the first is b');
    expect(verdict(advance({ ...done, talmStrict: true }))).toBe(`True ${COMPLIANT}`);
  });
});

describe('a template that is not what the rollout began with', () => {
  const otherVersion: Wait = { cause: 'work', says: 'ManifestWorkReplicaSet ns/t is not what the rollout began with', fix: 'put it back' };
  const given: Given = {
    mode: { kind: 'manifestWork' },
    status: running(1, { a: at(0), b: at(0) }),
    standings: { a: 'done', b: 'done' },
    otherVersion,
  };

  test('lets the batch that runs end, and starts no other', () => {
    const held = advance({ ...given, minutes: 5 });
    expect(records(held)).toEqual(['a complete', 'b complete']);
    expect([held.status, verdict(held)]).toEqual([{ startedAt: iso(T0), currentBatch: 2 }, undefined]);
    expect(progressing(held)).toMatch(
      /^True TemplateChanged: ManifestWorkReplicaSet ns\/t is not what the rollout began with; put it back/,
    );
    const back = advance({ ...given, otherVersion: undefined, status: held.status, clusters: [...held.clusters], minutes: 6 });
    expect(back.status).toMatchObject({ currentBatch: 2, currentBatchStartedAt: iso(T0 + 6 * MINUTE) });
  });

  test('ends with the time of the upgrade', () => {
    const held = advance({ ...given, minutes: 5 });
    const late = advance({ ...given, status: held.status, clusters: [...held.clusters], minutes: 60 });
    expect(verdict(late)).toBe('False TimedOut: Manifestwork rollout took too long');
  });
});

describe('the window', () => {
  const closed = { kind: 'closed', message: 'The window ended at 5' } as const;

  test('lets a batch that runs go on when it closes', () => {
    const result = advance({ status: running(1, { a: at(0), b: at(0) }), standings: { a: 'done' }, window: closed });
    expect([progressing(result), records(result)]).toEqual([IN_PROGRESS, ['a complete']]);
  });

  test('holds the next batch, and starts it when it opens', () => {
    const given: Given = { status: running(1, { a: at(0), b: at(0) }), standings: { a: 'done', b: 'done' }, minutes: 10 };
    const held = advance({ ...given, window: { ...closed, opensAt: T0 + 40 * MINUTE } });
    expect(held.status).toEqual({ startedAt: iso(T0), currentBatch: 2 });
    expect([progressing(held), held.wakeAt]).toEqual([
      'True WaitingForWindow: The window ended at 5; move or remove the annotations to go on',
      T0 + 40 * MINUTE,
    ]);
    const opened = advance({ ...given, status: held.status, clusters: [...held.clusters], minutes: 40 });
    expect(opened.status).toEqual({ startedAt: iso(T0), ...running(2, { c: at(0) }, 40) });
  });

  test('that cannot be read any more holds the next batch too', () => {
    const result = advance({ status: { currentBatch: 2 }, window: { kind: 'invalid', message: 'Annotation x is odd' } });
    expect([progressing(result), result.wakeAt]).toEqual(['True InvalidWindow: Annotation x is odd', T0 + 60 * MINUTE]);
  });

  test('does not stop the clock', () => {
    expect(verdict(advance({ status: { currentBatch: 2 }, window: closed, minutes: 60 }))).toBe(TOO_LONG);
  });
});

describe('a window that recurs', () => {
  const annotations = { 'flotilla.io/window-schedule': '0 0 * * *', 'flotilla.io/window-duration': '30m' };
  const [BATCH_2, DAY] = [{ currentBatch: 2 }, 24 * 60];

  test('holds the next batch until it opens again, and the clock stands still', () => {
    const held = advance({ annotations, status: BATCH_2, minutes: 20 * 60 });
    expect(progressing(held)).toBe(
      'True WaitingForWindow: Waiting for the window, which opens next at 2026-01-02T00:00:00Z by 0 0 * * * (annotation flotilla.io/window-schedule); move or remove the annotations to go on',
    );
    expect([verdict(held), held.wakeAt]).toEqual([undefined, T0 + DAY * MINUTE]);
    const opened = advance({ annotations, status: BATCH_2, minutes: DAY });
    expect(progressOf(opened)).toEqual({ c: at(0) });
    // Half an hour of the hour is over.
    expect(opened.wakeAt).toBe(T0 + (DAY + 30) * MINUTE);
  });

  test('gives all of its nights together the time of the upgrade', () => {
    const status = running(2, { c: at(0) }, DAY);
    expect(verdict(advance({ annotations, status, minutes: DAY + 29 }))).toBeUndefined();
    expect(verdict(advance({ annotations, status, minutes: DAY + 30 }))).toBe(TOO_LONG);
  });

  test('lets a batch that runs go on when it closes, within its share', () => {
    const status = running(1, { a: at(0), b: at(0) }, 20);
    const result = advance({ annotations, status, minutes: 35 });
    expect([progressOf(result), result.wakeAt]).toEqual([{ a: at(0), b: at(0) }, T0 + 40 * MINUTE]);
  });
});

describe('a pause', () => {
  const paused = { 'flotilla.io/paused': 'drain' };
  const nightly = { 'flotilla.io/window-schedule': '0 0 * * *', 'flotilla.io/window-duration': '30m' };

  test('lets a batch that runs end, and holds the next one', () => {
    const status = running(1, { a: at(0), b: at(0) });
    const result = advance({ annotations: paused, status, standings: { a: 'done', b: 'done' }, minutes: 5 });
    expect(records(result)).toEqual(['a complete', 'b complete']);
    expect([result.status.currentBatch, progressOf(result)]).toEqual([2, undefined]);
    expect(progressing(result)).toBe('True Paused: Paused; remove the annotation flotilla.io/paused to go on');
  });

  test('stops the clock of a batch and of the upgrade, and leaves them what they had', () => {
    const begun = advance({ annotations: paused, status: running(1, { a: at(0), b: at(0) }), minutes: 20 });
    expect(begun.status.pausedAt).toBe(iso(T0 + 20 * MINUTE));
    const lasting = advance({ annotations: paused, status: begun.status, minutes: 10 * 60 });
    expect([verdict(lasting), records(lasting), lasting.wakeAt]).toEqual([undefined, [], undefined]);
    const over = advance({ status: lasting.status, minutes: 10 * 60 });
    const pausedSeconds = (10 * 60 - 20) * 60;
    expect(over.status).toMatchObject({ pausedSeconds, currentBatchPausedSeconds: pausedSeconds });
    expect(over.status.pausedAt).toBeUndefined();
    // The batch has ten minutes left of its half an hour.
    expect(over.wakeAt).toBe(T0 + (10 * 60 + 10) * MINUTE);
    expect(records(advance({ status: over.status, minutes: 10 * 60 + 10 }))).toEqual(['a timedout', 'b timedout']);
  });

  test('of a batch does not count for the next one', () => {
    const status = { ...running(1, { a: at(0), b: at(0) }), pausedSeconds: 600, currentBatchPausedSeconds: 600 };
    const next = advance({ status, standings: { a: 'done', b: 'done' }, minutes: 40 });
    expect(next.status).toMatchObject({ currentBatch: 2, pausedSeconds: 600 });
    expect(next.status.currentBatchPausedSeconds).toBeUndefined();
    expect(next.wakeAt).toBe(T0 + 70 * MINUTE);
  });

  test('over a night does not count the closed time twice', () => {
    const begun = advance({ annotations: { ...nightly, ...paused }, status: { currentBatch: 2 }, minutes: 20 });
    const over = advance({ annotations: nightly, status: begun.status, minutes: 24 * 60 + 10 });
    // Ten minutes of the first window and ten of the second.
    expect(over.status.pausedSeconds).toBe(20 * 60);
    expect(over.wakeAt).toBe(T0 + (24 * 60 + 10 + 40) * MINUTE);
  });

  test('begins nothing inside a batch', () => {
    const observed = { forbids: () => 'Paused' };
    const result = advance({ annotations: paused, status: running(1, { a: at(0) }), observed, minutes: 5 });
    expect([progressOf(result), result.messages]).toEqual([{ a: at(0) }, { b: 'Paused' }]);
  });
});

test('5,000 clusters: one pass of a batch of 500 takes little time', () => {
  const names = Array.from({ length: 5000 }, (_, index) => `edge-site-${index}`);
  const plan = Array.from({ length: 10 }, (_, index) => names.slice(index * 500, (index + 1) * 500));
  const clusters = names.slice(0, 4500).map((name) => ({ name, state: 'complete' }));
  const started = process.cpuUsage();
  const result = advance({ plan, clusters, status: running(10), standings: {} });
  const took = process.cpuUsage(started).user / 1000;
  process.stdout.write(`one pass over 5,000 clusters: ${took.toFixed(1)} ms of CPU\n`);
  expect(Object.keys(progressOf(result) ?? {})).toHaveLength(500);
  expect(took).toBeLessThan(250);
});

describe('clusters that the upgrade may not use any more', () => {
  const WHY = 'cluster b is in no cluster set that is bound';
  const forbids = (cluster: string) => (cluster === 'b' ? WHY : undefined);

  test('are not begun, are told of, and time out with the batch', () => {
    const begun = advance({ observed: { forbids }, minutes: 1 });
    expect(progressOf(begun)).toEqual({ a: at(0) });
    expect(begun.messages).toEqual({ b: WHY });
    const late = advance({ plan: [['a', 'b']], status: running(1, { a: DONE }), observed: { forbids }, minutes: 61 });
    expect(records(late)).toEqual(['a complete', 'b timedout']);
    expect(late.clusters[1]?.message).toBe(WHY);
    expect(verdict(late)).toBe(TOO_LONG);
  });

  test('are begun once it may use them again', () => {
    const result = advance({ status: running(1, { a: at(0) }), minutes: 2 });
    expect(progressOf(result)).toEqual({ a: at(0), b: at(0) });
  });

  test('go on when they were begun', () => {
    const result = advance({ status: running(1, { a: at(0), b: at(0) }), standings: { b: 'done' }, observed: { forbids }, minutes: 1 });
    expect(records(result)).toEqual(['b complete']);
    expect(result.messages).toEqual({});
  });
});

describe('a member that is not there, and was not seen to leave', () => {
  const missing = (...clusters: string[]): Partial<RolloutObservation> => ({
    exists: (cluster) => !clusters.includes(cluster),
    hasLeft: () => false,
  });
  const said = (cluster: string, minutes: string) =>
    `waits (cluster-missing) since 2026-01-01T00:${minutes}:00Z: ${cluster} is no ManagedCluster, and nobody saw it deleted; seen: ManagedCluster ${cluster}, metadata.name: (not found); to go on: restore or register it, or take it out of spec.clusters`;

  test('is waited for before the first batch, by name, for half an hour; then the batch starts and waits for it', () => {
    const given: Given = { observed: { ...missing('a', 'c'), isPrepared: () => true } };
    const early = advance(given);
    expect([early.status.currentBatch, early.wakeAt, records(early)]).toEqual([undefined, T0 + 30 * MINUTE, []]);
    expect(Object.keys(early.messages)).toEqual(['(upgrade)']);
    expect(early.messages['(upgrade)']).toMatch(
      /^waits \(cluster-missing\) since 2026-01-01T00:00:00Z until 2026-01-01T00:30:00Z at the latest: a, c are no ManagedClusters/,
    );
    const late = advance({ ...given, minutes: 30 });
    expect([late.status.currentBatch, records(late), late.messages]).toEqual([1, [], { a: said('a', '30') }]);
  });

  test('holds its batch, whatever is seen of its policies, and times out with it', () => {
    const given: Given = { status: running(1, { a: at(0), b: at(0) }), standings: { a: 'notMatched', b: 'done' }, observed: missing('a') };
    const waiting = advance(given);
    expect([waiting.status.currentBatch, records(waiting), waiting.messages]).toEqual([1, ['b complete'], { a: said('a', '00') }]);
    const late = advance({ ...given, minutes: 30, messages: waiting.messages });
    expect([late.status.currentBatch, records(late)]).toEqual([2, ['a timedout', 'b complete']]);
    expect(late.clusters.find(({ name }) => name === 'a')?.message).toBe(said('a', '00'));
  });

  test('is not complete by edits that nobody sees', () => {
    const given: Given = {
      plan: [['a']],
      status: running(1, { a: { state: 'Completed' } }),
      observed: { ...missing('a'), isEdited: () => true },
    };
    expect(records(advance(given))).toEqual([]);
    expect(records(advance({ ...given, minutes: 60 }))).toEqual(['a timedout']);
  });

  test('soaks anew when it is back', () => {
    const soaking = { ...at(0), firstCompliantAt: iso(T0) };
    const given: Given = { plan: [['a']], mode: { soak: 60 }, standings: { a: 'done' }, status: running(1, { a: soaking }) };
    const away = advance({ ...given, minutes: 5, observed: missing('a') });
    expect(away.status.currentBatchRemediationProgress).toEqual({ a: at(0) });
    const back = advance({ ...given, status: away.status, minutes: 5 });
    expect(back.status.currentBatchRemediationProgress).toEqual({ a: { ...at(0), firstCompliantAt: iso(T0 + 5 * MINUTE) } });
  });

  test('is no end, though none of them is there', () => {
    const given: Given = {
      status: running(2, { c: at(0) }),
      clusters: [{ name: 'a', state: 'complete' }],
      observed: missing('a', 'b', 'c'),
    };
    expect([verdict(advance(given)), records(advance(given))]).toEqual([undefined, ['a complete']]);
  });

  test('and has had nothing to do is waited for too, and recorded after half an hour', () => {
    const given: Given = {
      plan: [['b']],
      status: { currentBatchRemediationProgress: { a: { state: 'Completed' } } },
      observed: missing('a'),
    };
    expect(advance(given).status.currentBatch).toBeUndefined();
    const late = advance({ ...given, minutes: 30 });
    expect([late.status.currentBatch, records(late)]).toEqual([1, ['a timedout']]);
  });
});
