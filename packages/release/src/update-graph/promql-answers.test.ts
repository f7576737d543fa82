import { expect, test } from 'vitest';
import { PromqlAnswers } from './promql-answers.ts';

const NOW = Date.parse('2026-01-02T10:00:00Z');
const HOUR = 3_600_000;

/** Asks the next question and answers it. */
function answer(answers: PromqlAnswers, nowMs: number, exposure: Parameters<PromqlAnswers['store']>[1]): string | undefined {
  const next = answers.next(nowMs);
  if (!next || next.atMs > nowMs) return undefined;
  answers.begin(nowMs);
  answers.store(next.query, exposure, nowMs);
  return next.query;
}

test('nothing is asked that nobody looks at', () => expect(new PromqlAnswers().next(NOW)).toBeUndefined());

test('questions are a second apart, and say until when', () => {
  const answers = new PromqlAnswers();
  answers.look('a', NOW);
  expect(answer(answers, NOW, { matches: true })).toBe('a');
  expect(answers.look('b', NOW)).toEqual({ error: 'evaluation is throttled until 10:00:01Z' });
  expect(answers.next(NOW)).toEqual({ query: 'b', atMs: NOW + 1_000 });
  expect(answer(answers, NOW + 999, { matches: false })).toBeUndefined();
  expect(answer(answers, NOW + 1_000, { matches: false })).toBe('b');
  expect([answers.look('a', NOW), answers.look('b', NOW)]).toEqual([{ matches: true }, { matches: false }]);
});

test('an answer stands for an hour, and meanwhile the next one is waited for with it', () => {
  const answers = new PromqlAnswers();
  answers.look('a', NOW);
  answer(answers, NOW, { matches: true });
  expect(answer(answers, NOW + HOUR - 1, { matches: false })).toBeUndefined();
  expect(answers.look('a', NOW + HOUR)).toEqual({ matches: true });
  expect(answer(answers, NOW + HOUR, { matches: false })).toBe('a');
  expect(answers.look('a', NOW + HOUR)).toEqual({ matches: false });
});

test('a question that failed is asked again after a minute', () => {
  const answers = new PromqlAnswers();
  answers.look('a', NOW);
  answer(answers, NOW, { error: 'no route' });
  expect(answers.look('a', NOW + 1)).toEqual({ error: 'no route' });
  expect(answers.next(NOW)).toEqual({ query: 'a', atMs: NOW + 60_000 });
});

test('an answer counts for its day, whatever fails after it', () => {
  const answers = new PromqlAnswers();
  answers.look('a', NOW);
  answer(answers, NOW, { matches: false });
  for (let hours = 1; hours < 24; hours++) {
    const now = NOW + hours * HOUR;
    expect(answer(answers, now, { error: 'no route' })).toBe('a');
    expect(answers.look('a', now)).toEqual({ matches: false });
    expect(answers.next(now)).toEqual({ query: 'a', atMs: now + 60_000 });
  }
  expect(answers.look('a', NOW + 24 * HOUR - 1)).toEqual({ matches: false });
  expect(answers.look('a', NOW + 24 * HOUR)).toEqual({ error: 'no route' });
  expect(answer(answers, NOW + 24 * HOUR, { matches: true })).toBe('a');
  expect(answers.look('a', NOW + 24 * HOUR)).toEqual({ matches: true });
});

test('the question that has waited longest comes first', () => {
  const answers = new PromqlAnswers();
  for (const query of ['a', 'b']) {
    answers.look(query, NOW);
    answer(answers, NOW + (query === 'a' ? 0 : 2_000), { matches: true });
  }
  answers.look('c', NOW + 2 * HOUR);
  expect(answer(answers, NOW + 2 * HOUR, { matches: true })).toBe('c');
  expect(answer(answers, NOW + 2 * HOUR + 1_000, { matches: true })).toBe('a');
  expect(answer(answers, NOW + 2 * HOUR + 2_000, { matches: true })).toBe('b');
});

test('what nobody has looked at for a day is forgotten', () => {
  const answers = new PromqlAnswers();
  answers.look('a', NOW);
  answer(answers, NOW, { matches: true });
  expect(answers.next(NOW + 24 * HOUR)).toBeUndefined();
  expect(answers.look('a', NOW + 24 * HOUR)).toHaveProperty('error');
});
