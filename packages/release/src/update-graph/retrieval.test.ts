import { expect, test } from 'vitest';
import { afterAttempt, type Retrieval, retrievalDueMs } from './retrieval.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const DAY = 24 * 3_600_000;
const found = { current: { version: '4.20.1', image: 'i' }, updates: [], conditional: [] };
const refusal = { reason: 'RemoteFailed', message: 'Unable to retrieve available updates: no route' };
const good: Retrieval = { key: 'k', attemptedAtMs: NOW, freshAtMs: NOW, updates: found };

test('updates are asked for at once where nothing is known or the question is another, else at a pace', () => {
  expect(retrievalDueMs(undefined, 'k', 1_000)).toBe(0);
  expect(retrievalDueMs(good, 'other', 1_000)).toBe(0);
  expect(retrievalDueMs(good, 'k', 1_000)).toBe(NOW + 1_000);
});

test.each([
  { name: 'within a day what was known stays', last: good, key: 'k', afterMs: DAY, known: true },
  { name: 'after a day it goes', last: good, key: 'k', afterMs: DAY + 1, known: false },
  { name: 'with another question it goes', last: good, key: 'other', afterMs: 1, known: false },
  { name: 'where nothing was known nothing is', last: undefined, key: 'k', afterMs: 0, known: false },
])('an attempt fails: $name', ({ last, key, afterMs, known }) => {
  const after = afterAttempt(last, { key, result: refusal, nowMs: NOW + afterMs });
  expect(after.updates).toBe(known ? found : undefined);
  expect(after).toMatchObject({ key, refusal, attemptedAtMs: NOW + afterMs });
});

test('a failure that goes on does not make what is known fresh', () => {
  const first = afterAttempt(good, { key: 'k', result: refusal, nowMs: NOW + DAY - 1 });
  expect(afterAttempt(first, { key: 'k', result: refusal, nowMs: NOW + DAY + 1 }).updates).toBeUndefined();
});

test('a good answer ends a failure', () => {
  const failed = afterAttempt(undefined, { key: 'k', result: refusal, nowMs: NOW });
  expect(afterAttempt(failed, { key: 'k', result: found, nowMs: NOW + 1 })).toEqual({
    key: 'k',
    attemptedAtMs: NOW + 1,
    freshAtMs: NOW + 1,
    updates: found,
  });
});
