import { PullerReport } from '@flotilla/api/ran';
import { type Clock, createLogger } from '@flotilla/runtime';
import type { WantedImage } from '@flotilla/software';
import { expect, test } from 'vitest';
import { Progress } from './progress.ts';
import { Reporter } from './reporter.ts';

/** Clock that the test advances. */
class StepClock implements Clock {
  #now = 0;
  #timers: { at: number; fn: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  setTimer(ms: number, fn: () => void): Disposable {
    const timer = { at: this.#now + ms, fn };
    this.#timers.push(timer);
    const cancel = (): void => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
    return { [Symbol.dispose]: cancel };
  }

  /** Advances one second and lets promises resolve. */
  async second(): Promise<void> {
    this.#now += 1_000;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { fn } of due) fn();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const image: WantedImage = { digest: 'a', pullSpecs: [], layers: [{ digest: 'layer', size: 1_000 }] };

function start(job: (text: string, signal: AbortSignal) => Promise<void>, jobMs = 3_000) {
  const clock = new StepClock();
  const progress = new Progress(() => clock.now());
  progress.expect([image], 0);
  const lines: string[] = [];
  const termination: string[] = [];
  const sinks = {
    line: (text: string) => void lines.push(text),
    terminationMessage: async (text: string) => void termination.push(text),
    job,
  };
  const logger = createLogger({ name: 'test', level: 'silent' });
  const reporter = new Reporter({ report: () => progress.report(), sinks, jobMs, clock, logger });
  reporter.start();
  return { clock, progress, lines, termination, reporter };
}

test('a fleet of thousands has its ConfigMaps written as rarely as it is told to, and the end at once', async () => {
  const writes: number[] = [];
  const { clock, progress, reporter } = start(async () => void writes.push(clock.now()), 40_000);
  for (let second = 1; second <= 90; second += 1) {
    progress.sawLayers(new Map([['layer', second]]));
    await clock.second();
  }
  await reporter.finish();
  expect(writes).toEqual([1_000, 41_000, 81_000, 90_000]);
});

test('a line every second; the ConfigMap at most every three and only when something changed', async () => {
  const writes: number[] = [];
  const { clock, progress, lines, reporter, termination } = start(async () => void writes.push(clock.now()));
  for (let second = 1; second <= 12; second++) {
    // nothing changes after the sixth second
    progress.sawLayers(new Map([['layer', Math.min(second, 6) * 100]]));
    await clock.second();
  }
  expect(lines).toHaveLength(12);
  expect(writes).toEqual([1_000, 4_000, 7_000]);
  progress.enter('done');
  await reporter.finish();
  expect(writes).toHaveLength(4);
  expect(PullerReport.parse(JSON.parse(lines.at(-1) ?? ''))).toEqual(PullerReport.parse(JSON.parse(termination.at(-1) ?? '')));
  await clock.second();
  expect(lines).toHaveLength(13);
});

test('a ConfigMap that cannot be written is tried again and fails nothing', async () => {
  let tries = 0;
  const { clock, reporter, termination } = start(async () => {
    tries++;
    throw new Error('403');
  });
  for (let second = 1; second <= 7; second++) await clock.second();
  expect(tries).toBe(3);
  await reporter.finish();
  expect(termination).toHaveLength(1);
});

test('a write that hangs is ended before the last one', async () => {
  const texts: string[] = [];
  const { clock, progress, reporter } = start(async (text, signal) => {
    texts.push(text);
    if (texts.length === 1) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  });
  await clock.second();
  progress.enter('done');
  await reporter.finish();
  expect(texts.map((text) => PullerReport.parse(JSON.parse(text)).phase)).toEqual(['listing', 'done']);
});
