/** Batches, soaks, times and lasting errors of a pass over a rollout. */
import { describe, expect, test } from 'vitest';
import {
  advance,
  at,
  COMPLIANT,
  DONE,
  type Given,
  IN_PROGRESS,
  iso,
  MINUTE,
  progressing,
  progressOf,
  records,
  running,
  T0,
  TOO_LONG,
  verdict,
} from '../../testing/advance-case.ts';
import type { RolloutObservation } from '../upgrade/model.ts';

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
