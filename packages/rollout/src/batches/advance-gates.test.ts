/** Gates between the batches of a rollout: templates, windows, pauses. */
import { describe, expect, test } from 'vitest';
import {
  advance,
  at,
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
import type { Wait } from '../waits/wait.ts';

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

  test.each<{ name: string; next: Readonly<Record<string, string>> }>([
    { name: 'cleared', next: {} },
    { name: 'misspelt', next: { ...annotations, 'flotilla.io/window-schedule': '0 0 * *' } },
    { name: 'under a misspelt key', next: { 'flotilla.io/window-schedul': '0 0 * * *', 'flotilla.io/window-duration': '30m' } },
    { name: 'widened', next: { ...annotations, 'flotilla.io/window-duration': '6h' } },
    { name: 'moved to a later day', next: { ...annotations, 'flotilla.io/window-start': '2026-02-01T00:00:00Z' } },
  ])('that is $name takes none of the time that is past', ({ next }) => {
    const held = advance({ annotations, status: BATCH_2, minutes: DAY - 60 });
    const between = advance({ annotations: next, status: held.status, minutes: DAY - 59 });
    expect([verdict(between), records(between)]).toEqual([undefined, []]);
    const opened = advance({ annotations, status: held.status, minutes: DAY });
    const within = advance({ annotations: next, status: opened.status, minutes: DAY + 6 });
    expect([verdict(within), records(within)]).toEqual([undefined, []]);
  });

  test('that could not be read for a day has not taken it', () => {
    const wrong = { ...annotations, 'flotilla.io/window-schedule': '0 0 * *' };
    const held = advance({ annotations, status: BATCH_2, minutes: 20 * 60 });
    const unread = advance({ annotations: wrong, status: held.status, minutes: DAY - 60 });
    const again = advance({ annotations, status: unread.status, minutes: 2 * DAY - 60 });
    const opened = advance({ annotations, status: again.status, minutes: 2 * DAY });
    expect(opened.wakeAt).toBe(T0 + (2 * DAY + 30) * MINUTE);
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
    const observed = { forbids: () => ({ cause: 'paused', says: 'Paused' }) as const };
    const result = advance({ annotations: paused, status: running(1, { a: at(0) }), observed, minutes: 5 });
    expect([progressOf(result), result.messages]).toEqual([{ a: at(0) }, { b: 'waits (paused): Paused' }]);
  });
});
