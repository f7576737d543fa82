import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@flotilla/pace';
import { expect, test } from 'vitest';
import { type DispatcherOptions, startDispatcher } from './dispatcher.ts';
import { openInProcessStore } from './in-process-store.ts';
import type { StepKey } from './step-key.ts';

/** Time that a test lets pass. */
class TestClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly fire: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  setTimer(ms: number, fire: () => void): Disposable {
    const timer = { at: this.#now + ms, fire };
    this.#timers.push(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers = this.#timers.filter((each) => each !== timer);
      },
    };
  }

  /** Lets time pass; what became due has had its turn when it resolves. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await turns();
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (!next) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.#now = Math.max(this.#now, next.at);
      next.fire();
      await turns();
    }
    this.#now = end;
    await turns();
  }
}

/** The event loop has gone round, and what it began has ended. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
}

const HOUR = 3_600_000;
const key: StepKey = { kind: 'precache', upgrade: 'uid-1', cluster: 'a' };

function start(handle: DispatcherOptions['handle'], more: Partial<DispatcherOptions> = {}) {
  const clock = new TestClock();
  const { signal } = new AbortController();
  const log = { info: () => {}, warn: () => {}, debug: () => {} };
  const store = openInProcessStore();
  return {
    clock,
    steps: startDispatcher({ store, name: 'steps', kinds: ['precache'], concurrency: 1, handle, signal, log, clock, ...more }),
  };
}

test('a step that is wanted at a time while it runs gets it to the millisecond, for an hour', async () => {
  const at: number[] = [];
  const { clock, steps } = start(async () => {
    at.push(clock.now());
    steps.want(key, { at: clock.now() + 600_000 });
  });
  steps.want(key);
  await clock.pass(HOUR);
  expect(at).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => n * 600_000));
  steps.forget(key);
  await clock.pass(HOUR);
  expect(at).toHaveLength(7);
});

test('a timer has the best priority that was asked for, and an earlier run does not cancel it', async () => {
  const runs: string[] = [];
  const { clock, steps } = start(async ({ cluster }) => {
    runs.push(`${cluster} ${clock.now()}`);
  });
  steps.want(key, { at: 1_000, priority: 9 });
  steps.want(key, { at: 5_000, priority: 1 });
  steps.want({ ...key, cluster: 'b' }, { at: 1_000, priority: 5 });
  steps.want(key);
  await clock.pass(999);
  expect(runs).toEqual(['a 0']);
  await clock.pass(1);
  expect(runs.slice(1).toSorted()).toEqual(['a 1000', 'b 1000']);
  await clock.pass(HOUR);
  expect(runs).toHaveLength(3);
});

test('what keeps failing is tried ever more rarely, and told from the fifth time on', async () => {
  const told: number[] = [];
  let tries = 0;
  const { clock, steps } = start(
    () => {
      tries += 1;
      return Promise.reject(new Error('refused'));
    },
    { onFailing: () => told.push(tries), backOff: { baseMs: 1_000, maxMs: 60_000 } },
  );
  steps.want(key);
  await clock.pass(HOUR);
  // A minute at most, half of it at least.
  expect(tries).toBeGreaterThan(60);
  expect(tries).toBeLessThan(135);
  expect(told[0]).toBe(5);
  expect(told).toHaveLength(tries - 4);
  // It will be tried again, but nothing of it waits or runs.
  expect(steps.holds(key)).toBe(false);
});
