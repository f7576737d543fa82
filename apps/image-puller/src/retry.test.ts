import type { Clock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { backOffMs, withRetries } from './retry.ts';

/** A clock whose waits pass at once. */
function quickClock(): Clock & { readonly waits: number[] } {
  let now = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => now,
    setTimer(ms, fn) {
      waits.push(ms);
      queueMicrotask(() => {
        now += ms;
        fn();
      });
      return { [Symbol.dispose]: () => {} };
    },
  };
}

const transient = new Error('broken');
const refused = new Error('refused');

async function runWith(errors: Error[], retryForMs = 60_000): Promise<{ result: unknown; calls: number; waits: number[] }> {
  const clock = quickClock();
  let calls = 0;
  const options = {
    isTransient: (error: unknown) => error === transient,
    refusedTries: 3,
    retryForMs,
    clock,
    random: () => 1,
    signal: new AbortController().signal,
  };
  const result = await withRetries(async () => {
    const error = errors[calls++];
    if (error) throw error;
    return 'done';
  }, options).catch((error: unknown) => error);
  return { result, calls, waits: clock.waits };
}

test('goes on after transient failures, waiting twice as long each time', async () => {
  expect(await runWith([transient, transient, transient])).toEqual({ result: 'done', calls: 4, waits: [500, 1_000, 2_000] });
});

test('gives up on a refusal after three tries, transient failures not counted', async () => {
  expect(await runWith([refused, transient, refused, transient, refused])).toMatchObject({ result: refused, calls: 5 });
});

test('gives up when the time is over', async () => {
  const { result, waits } = await runWith(
    Array.from({ length: 1_000 }, () => transient),
    10_000,
  );
  expect(result).toBe(transient);
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(10_000);
});

test('waits have jitter and a bound', () => {
  expect(backOffMs(1, () => 0)).toBe(50);
  expect(backOffMs(50, () => 0.999)).toBeLessThanOrEqual(20_000);
});

test('an abort ends the wait', async () => {
  const stop = new AbortController();
  const never: Clock = { now: () => 0, setTimer: () => ({ [Symbol.dispose]: () => {} }) };
  const running = withRetries(() => Promise.reject(transient), {
    isTransient: () => true,
    refusedTries: 1,
    retryForMs: 1e9,
    clock: never,
    random: () => 0,
    signal: stop.signal,
    onRetry: () => queueMicrotask(() => stop.abort(new Error('SIGTERM'))),
  });
  await expect(running).rejects.toThrow('SIGTERM');
});
