import { describe, expect, test } from 'vitest';
import { Retries } from './retries.ts';

/** Waits of so many failures of one thing in a row; half of each is left to chance. */
const waits = (retries: Retries, what: string, count: number) => Array.from({ length: count }, () => retries.after(what));
const expectWaits = (actual: readonly number[], full: readonly number[]) => {
  expect(actual).toHaveLength(full.length);
  for (const [index, wait] of actual.entries()) {
    expect(wait).toBeGreaterThanOrEqual((full[index] ?? 0) / 2);
    expect(wait).toBeLessThanOrEqual(full[index] ?? 0);
  }
};

describe('a step that fails is tried again', () => {
  test.each([
    {
      name: 'after a second, then later and later, a minute at most',
      maxMs: 60_000,
      full: [1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * 1_000),
    },
    { name: 'as often as whoever runs it wants', maxMs: 5_000, full: [1_000, 2_000, 4_000, 5_000, 5_000] },
    { name: 'at once where that is wanted', maxMs: 10, full: [10, 10] },
  ])('$name', ({ maxMs, full }) => expectWaits(waits(new Retries(maxMs), 'commence', full.length), full));

  test('soon again when another step fails, or when it did not fail in between', () => {
    const retries = new Retries(60_000);
    waits(retries, 'commence', 5);
    expectWaits(waits(retries, 'await-workers', 2), [1_000, 2_000]);
    expectWaits(waits(retries, 'commence', 1), [1_000]);
    waits(retries, 'commence', 5);
    retries.reset();
    expectWaits(waits(retries, 'commence', 1), [1_000]);
  });
});

test('the same words of the same step are no news', () => {
  const retries = new Retries(60_000);
  expect(retries.isNews('commence', 'refused')).toBe(true);
  retries.after('commence');
  expect(retries.isNews('commence', 'refused')).toBe(false);
  expect(retries.isNews('commence', 'timed out')).toBe(true);
  expect(retries.isNews('await-workers', 'timed out')).toBe(true);
  retries.reset();
  expect(retries.isNews('await-workers', 'timed out')).toBe(true);
});

test('what is done need not be done again, whatever fails', () => {
  const retries = new Retries(60_000);
  retries.noteDone('result 4.14.12');
  retries.after('commence');
  retries.reset();
  expect([retries.isDone('result 4.14.12'), retries.isDone('result 4.15.3')]).toEqual([true, false]);
});
