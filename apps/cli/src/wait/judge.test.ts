import type { StatusAnswer } from '@flotilla/api/answers';
import { expect, test } from 'vitest';
import { judgeGoal, whyNot } from './judge.ts';

const unknown = { certainty: 'unknown' } as const;
const cachedBy = (done: number, failed: number, of: number): StatusAnswer['cached'] => ({
  done,
  failed,
  of,
  pulling: 0,
  states: {},
  bytesDone: unknown,
  bytesTotal: unknown,
  bytesPerSecond: unknown,
  secondsLeft: unknown,
});
const answerOf = (stage: StatusAnswer['stage'], more: Partial<StatusAnswer> = {}): StatusAnswer => ({
  upgrade: 'ns/u',
  stage,
  says: 'Its condition.',
  hub: { state: 'leads' },
  batch: { current: 0, of: 2 },
  window: { state: 'none' },
  clusters: { total: 2, done: 0, failed: 0, inBatch: 0, left: 2 },
  waits: [],
  failures: [],
  current: [],
  notes: [],
  ...more,
});
const ALL = { cached: cachedBy(2, 0, 2) };
const SECOND = { batch: { current: 2, of: 2 } };
const unprocessed = { edits: { state: 'unprocessed', says: 'no hub has processed it' } } as const;
const ignored = { edits: { state: 'ignored', says: 'Edited too late: spec.x' } } as const;

test.each([
  { goal: 'cached', answer: answerOf('waiting', ALL), want: 'yes' },
  { goal: 'cached', answer: answerOf('waiting', { cached: cachedBy(1, 1, 2) }), want: 'no' },
  { goal: 'cached', answer: answerOf('waiting', { ...ALL, ...unprocessed }), want: 'not yet' },
  { goal: 'cached', answer: answerOf('waiting', { cached: cachedBy(1, 1, 2), ...unprocessed }), want: 'not yet' },
  { goal: 'cached', answer: answerOf('refused', ALL), want: 'not yet' },
  { goal: 'cached', answer: answerOf('refused', { cached: cachedBy(1, 1, 2) }), want: 'not yet' },
  { goal: 'cached', answer: answerOf('rolling-out', { ...ALL, ...ignored }), want: 'yes' },
  { goal: 'cached', answer: answerOf('done', ALL), want: 'yes' },
  { goal: 'cached', answer: answerOf('done', { ...ALL, ...ignored }), want: 'no' },
  { goal: 'cached', answer: answerOf('failed', { ...ALL, ...unprocessed }), want: 'no' },
  { goal: 'done', answer: answerOf('done'), want: 'yes' },
  { goal: 'done', answer: answerOf('done', unprocessed), want: 'not yet' },
  { goal: 'done', answer: answerOf('done', ignored), want: 'no' },
  { goal: 'done', answer: answerOf('rolling-out', ignored), want: 'not yet' },
  { goal: 'done', answer: answerOf('partial', unprocessed), want: 'no' },
  { goal: 'batch=2', answer: answerOf('rolling-out', SECOND), want: 'yes' },
  { goal: 'batch=2', answer: answerOf('between-batches', SECOND), want: 'not yet' },
  { goal: 'batch=2', answer: answerOf('rolling-out', { ...SECOND, ...unprocessed }), want: 'not yet' },
  { goal: 'batch=9', answer: answerOf('waiting'), want: 'no' },
  { goal: 'batch=9', answer: answerOf('waiting', unprocessed), want: 'not yet' },
])('whether $answer.stage is $goal with edits $answer.edits.state: $want', ({ goal, answer, want }) => {
  expect(judgeGoal(goal, answer)).toBe(want);
});

test.each([
  { verdict: 'no', goal: 'done', answer: answerOf('failed', ignored), want: 'will not be done any more: Its condition.' },
  {
    verdict: 'no',
    goal: 'done',
    answer: answerOf('done', ignored),
    want: 'has ended without the edits of its spec: Edited too late: spec.x',
  },
  { verdict: 'no', goal: 'batch=9', answer: answerOf('waiting'), want: 'has 2 batches, and will never be batch=9: Its condition.' },
  { verdict: 'not yet', goal: 'done', answer: answerOf('rolling-out', ignored), want: 'is not done after 60 s: Its condition.' },
  {
    verdict: 'not yet',
    goal: 'cached',
    answer: answerOf('waiting', unprocessed),
    want: 'is not cached after 60 s: no hub has processed it',
  },
] as const)('a wait for $goal that ends in $answer.stage says why', ({ verdict, goal, answer, want }) => {
  expect(whyNot(verdict, answer, { for: goal, timeout: 60_000 })).toBe(want);
});
