import type { Clock } from '@flotilla/pace';
import { expect, test } from 'vitest';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { withRetries } from './patience.ts';

/** Clock whose waits pass at once. */
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

/** A failing try of `tookMs`. */
interface LongTry {
  readonly error: Error;
  readonly tookMs: number;
}

/** Runs tries in sequence, each for its time; `grows` tells whether they progress. */
async function runLong(tries: readonly LongTry[], { retryForMs, grows }: { retryForMs: number; grows: boolean }) {
  const clock = quickClock();
  let calls = 0;
  let grewAt: number | undefined;
  const options = {
    isTransient: (error: unknown) => error === transient,
    refusedTries: 3,
    retryForMs,
    progressedAt: () => grewAt,
    clock,
    random: () => 0,
    signal: new AbortController().signal,
  };
  const result = await withRetries(async () => {
    const next = tries[calls++];
    if (!next) return 'done';
    await new Promise<void>((resolve) => void clock.setTimer(next.tookMs, resolve));
    if (grows) grewAt = clock.now();
    throw next.error;
  }, options).catch((error: unknown) => error);
  return { result, calls };
}

const minutes = (count: number): number => count * 60_000;

test('a call that broke after longer than the whole budget is tried again', async () => {
  expect(await runLong([{ error: transient, tookMs: minutes(20) }], { retryForMs: minutes(15), grows: false })).toEqual({
    result: 'done',
    calls: 2,
  });
});

test('long calls that get no further are tried three times, those that do as long as they do', async () => {
  const tries = Array.from({ length: 6 }, () => ({ error: transient, tookMs: minutes(20) }));
  expect(await runLong(tries, { retryForMs: minutes(15), grows: false })).toEqual({ result: transient, calls: 3 });
  expect(await runLong(tries, { retryForMs: minutes(15), grows: true })).toEqual({ result: 'done', calls: 7 });
});

test('waits at least as long as the registry asks', async () => {
  const limited = new RegistryError(RegistryErrorCode.rateLimited, 'slow down', { retryAfterMs: 7_000 });
  const clock = quickClock();
  let calls = 0;
  await withRetries(
    async () => {
      if (calls++ === 0) throw limited;
    },
    { isTransient: () => true, refusedTries: 1, retryForMs: 60_000, clock, random: () => 0, signal: new AbortController().signal },
  );
  expect(clock.waits).toEqual([7_050]);
});

test('a registry that asks for an hour is asked three times within the time there is', async () => {
  const limited = new RegistryError(RegistryErrorCode.rateLimited, 'slow down', { retryAfterMs: 3_600_000 });
  const clock = quickClock();
  const options = { isTransient: () => true, refusedTries: 1, retryForMs: 120_000, clock, random: () => 1 };
  let calls = 0;
  const call = async () => {
    calls++;
    throw limited;
  };
  await expect(withRetries(call, { ...options, signal: new AbortController().signal })).rejects.toBe(limited);
  expect(calls).toBe(3);
  expect(clock.now()).toBeLessThanOrEqual(120_000);
});

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
