/** Clusters of a rollout that are not seen, have gone, or may not be used. */
import { describe, expect, test } from 'vitest';
import {
  advance,
  at,
  COMPLIANT,
  DONE,
  drift,
  type Given,
  IN_PROGRESS,
  iso,
  MINUTE,
  modeOf,
  progressing,
  progressOf,
  records,
  running,
  type Standings,
  T0,
  TOO_LONG,
  verdict,
} from '../../testing/advance-case.ts';
import type { RolloutObservation } from '../upgrade/model.ts';
import type { Wait } from '../waits/wait.ts';

describe('waits', () => {
  const held: Wait = { cause: 'policy', says: 'policy p is not there', since: T0 };
  const said = 'waits (policy) since 2026-01-01T00:00:00Z: policy p is not there';

  test('of a cluster are told while it is open, and kept in its record when its time is over', () => {
    const observed = { wait: (cluster?: string) => (cluster === 'a' ? held : undefined) };
    const waiting = advance({ status: running(1), observed });
    expect([waiting.messages, progressing(waiting)]).toEqual([{ a: said }, `${IN_PROGRESS} (cluster a: policy p is not there)`]);
    const late = advance({ status: running(1), observed, standings: { b: 'done' }, minutes: 30, action: 'Abort' });
    expect([late.messages, late.clusters.find(({ name }) => name === 'a')?.message]).toEqual([{}, said]);
  });

  test('of the whole upgrade are told under a key of their own', () => {
    const result = advance({ observed: { wait: (cluster) => (cluster === undefined ? held : undefined) } });
    expect([result.messages, progressing(result)]).toEqual([{ '(upgrade)': said }, `${IN_PROGRESS} (policy p is not there)`]);
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

  test('is told to wait for the pause where one stops the rollout: nothing else ends that', () => {
    const paused: Wait = { cause: 'paused', says: 'Paused', since: T0 };
    const observed = { ...withWait(UNSEEN), wait: (cluster?: string) => (cluster === 'a' ? paused : undefined) };
    expect(advance({ status: running(1, { a: at(0) }), observed }).messages).toEqual({
      a: 'waits (paused) since 2026-01-01T00:00:00Z: Paused',
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

describe('a cluster that was complete and fell back', () => {
  const complete = (name: string) => ({ name, state: 'complete' });

  test('is no success once its policy leaves it', () => {
    const given = { clusters: [complete('a')], plan: [['a'], ['b'], ['c']], observed: { drift } };
    const fell = advance({ ...given, status: running(2, { b: at(0) }), minutes: 1 });
    expect(fell.messages.a).toMatch(/does not comply with policy p0 any more/);
    const last = { ...given, clusters: [complete('a'), complete('b')], status: running(3, { c: at(0) }, 1), messages: fell.messages };
    const seen = advance({ ...last, standings: { a: 'unseen', b: 'done', c: 'done' }, minutes: 2 });
    expect([verdict(seen), progressOf(seen)?.a]).toEqual([undefined, at(0)]);
    const again = { ...last, clusters: [complete('b'), complete('c')], status: running(3, { a: at(0), c: DONE }, 1), minutes: 3 };
    expect(verdict(advance({ ...again, standings: { a: 'unseen', b: 'done', c: 'done' } }))).toBeUndefined();
  });

  test('is enforced where it complied from the beginning, and is no success', () => {
    const given = { plan: [['a']], clusters: [complete('x')], status: running(1, { a: at(0) }), observed: { drift } };
    const result = advance({ ...given, standings: { a: 'done' }, minutes: 1 });
    expect([verdict(result), progressOf(result)?.x]).toEqual([undefined, at(0)]);
    const done = advance({ ...given, standings: { a: 'done', x: 'done' }, minutes: 1 });
    expect(verdict(done)).toBe(`True ${COMPLIANT}`);
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

describe('clusters that the upgrade may not use any more', () => {
  const WHY = 'cluster b is in no cluster set that is bound';
  const forbids = (cluster: string) => (cluster === 'b' ? ({ cause: 'refused', says: WHY } as const) : undefined);

  test('are not begun, are told of, and time out with the batch', () => {
    const begun = advance({ observed: { forbids }, minutes: 1 });
    expect(progressOf(begun)).toEqual({ a: at(0) });
    expect(begun.messages).toEqual({ b: `waits (refused): ${WHY}` });
    const late = advance({ plan: [['a', 'b']], status: running(1, { a: DONE }), observed: { forbids }, minutes: 61 });
    expect(records(late)).toEqual(['a complete', 'b timedout']);
    expect(late.clusters[1]?.message).toBe(`waits (refused): ${WHY}`);
    expect(verdict(late)).toBe(TOO_LONG);
  });

  test('are begun once it may use them again', () => {
    const result = advance({ status: running(1, { a: at(0) }), minutes: 2 });
    expect(progressOf(result)).toEqual({ a: at(0), b: at(0) });
  });

  test('are looked at again when a bar that has an end is over', () => {
    const until = Date.parse('2026-01-01T00:07:00Z');
    const closed = (cluster: string) => (cluster === 'b' ? ({ cause: 'cluster-hours', says: 'closed', until } as const) : undefined);
    expect(advance({ observed: { forbids: closed }, minutes: 1 }).wakeAt).toBe(until);
    expect(advance({ status: running(1, { a: at(0), b: at(0) }), observed: { forbids: closed }, minutes: 1 }).wakeAt).not.toBe(until);
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
