import { expect, test } from 'vitest';
import { advance, at, DONE, type Given, iso, MINUTE, progressOf, records, running, T0, verdict } from '../../testing/advance-case.ts';
import { type Wait, waitMessage } from '../waits/wait.ts';

/** A limit of one cluster at a time, of which another has the place. */
const full: Wait = { cause: 'limit', says: 'waits for a place: at most 1 cluster is upgraded at a time (ConfigMap flotilla-limits)' };
/** Two batches of a third each, then the last; `hung` has the only place and never complies, so `b` waits. */
const stuck: Given = {
  plan: [['hung', 'b'], ['c'], ['d']],
  status: running(1, { hung: at(0) }),
  messages: { b: waitMessage(full) },
  observed: { place: (cluster) => (cluster === 'hung' ? undefined : full) },
};

test('a cluster that has its place times out with its batch, though another of it waits for the place', () => {
  expect(records(advance({ ...stuck, minutes: 19 }))).toEqual([]);
  expect(advance({ ...stuck, minutes: 19 }).wakeAt).toBe(T0 + 20 * MINUTE);
  const late = advance({ ...stuck, minutes: 20 });
  expect([records(late), late.status.currentBatch, verdict(late)]).toEqual([['hung timedout'], 1, undefined]);
});

test('a cluster that gets its place has the time of its batch from then on', () => {
  const begun: Given = { ...stuck, clusters: [{ name: 'hung', state: 'timedout' }], observed: { place: () => undefined } };
  const after = advance({ ...begun, status: running(1), minutes: 21 });
  expect([progressOf(after), after.status.currentBatchStartedAt]).toEqual([{ b: at(0) }, iso(T0 + 21 * MINUTE)]);
  // A third of the 39 minutes that were left.
  const later = { ...begun, messages: {}, status: running(1, { b: at(0) }, 21) };
  expect(records(advance({ ...later, minutes: 33 }))).toEqual(['hung timedout']);
  expect(records(advance({ ...later, minutes: 34 }))).toEqual(['hung timedout', 'b timedout']);
});

test('each place that a batch gets gives its clusters their time anew', () => {
  const plan = [['slow', 'b', 'x'], ['c'], ['d']];
  const place = (cluster: string) => (cluster === 'x' ? full : undefined);
  const messages = { b: waitMessage(full), x: waitMessage(full) };
  const after = advance({ ...stuck, plan, messages, observed: { place }, status: running(1, { slow: at(0) }), minutes: 19 });
  expect([progressOf(after), after.status.currentBatchStartedAt]).toEqual([{ slow: at(0), b: at(0) }, iso(T0 + 19 * MINUTE)]);
});

test('nobody who waits for a place is late with the batch', () => {
  const elsewhere = { ...stuck, clusters: [{ name: 'hung', state: 'complete' as const }], status: running(1, { hung: DONE }), minutes: 59 };
  expect(records(advance(elsewhere))).toEqual(['hung complete']);
  expect(records(advance({ ...elsewhere, minutes: 60 }))).toEqual(['hung complete', 'b timedout']);
});

test.each<[string, Given]>([
  ['an upgrade that a late batch ends', { ...stuck, action: 'Abort' }],
  ['canaries', { ...stuck, strategy: { canaries: ['hung', 'b'] } }],
])('of %s none begins once one is late', (_, given) => {
  const late = advance({ ...given, minutes: 20 });
  expect([records(late), verdict(late)?.startsWith('False TimedOut')]).toEqual([['hung timedout', 'b timedout'], true]);
});
