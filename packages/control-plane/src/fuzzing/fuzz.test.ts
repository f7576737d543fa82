import { TerminalError } from '@flotilla/api';
import { expect, test } from 'vitest';
import { type FuzzTarget, fuzz } from './fuzz.ts';

const numbers = (run: (input: number) => unknown, maxPauseMs?: number): FuzzTarget<number> => ({
  name: 'numbers',
  make: (random) => random.below(1_000),
  run,
  ...(maxPauseMs !== undefined && { maxPauseMs }),
});
const brief = { seed: 3, seconds: 0 };

const busy = (milliseconds: number): void => {
  const start = process.threadCpuUsage();
  while (process.threadCpuUsage(start).user / 1000 < milliseconds);
};

test('the same seed makes the same cases, and one of them alone', async () => {
  const seen: number[][] = [[], [], []];
  await fuzz(
    numbers((input) => seen[0]?.push(input)),
    brief,
  );
  await fuzz(
    numbers((input) => seen[1]?.push(input)),
    brief,
  );
  await fuzz(
    numbers((input) => seen[2]?.push(input)),
    { ...brief, only: 7 },
  );
  expect(seen[0]?.length).toBe(20);
  expect(seen[1]).toEqual(seen[0]);
  expect(seen[2]).toEqual([seen[0]?.[7]]);
});

test('a run ends after as many cases as are wanted', async () => {
  const report = await fuzz(
    numbers(() => undefined),
    { seed: 3, seconds: 100, most: 50 },
  );
  expect(report.cases).toBe(50);
});

test('errors of ours are answers, counted by their code', async () => {
  const report = await fuzz(
    numbers(() => Promise.reject(new TerminalError('FLOTILLA_TEST', 'refused'))),
    brief,
  );
  expect(report.refusals).toEqual({ FLOTILLA_TEST: report.cases });
});

// New pages cost what the kernel takes to find them, which is another promise than the one asked here.
test('what stays is growth; garbage of many cases is none', async () => {
  const kept: Buffer[] = [];
  const keep = fuzz(
    numbers(() => kept.push(Buffer.alloc(2 ** 24, 1)), Number.POSITIVE_INFINITY),
    { seed: 3, seconds: 100 },
  );
  await expect(keep).rejects.toThrow(/the process grew by \d+ MiB/);
  kept.length = 0;
  await fuzz(
    numbers(() => Buffer.alloc(2 ** 24, 1).length, Number.POSITIVE_INFINITY),
    { seed: 3, seconds: 0 },
  );
}, 120_000);

test.each<[string, () => unknown, RegExp]>([
  ['an error without a code', () => Promise.reject(new TypeError('x is undefined')), /crashed: TypeError: x is undefined/],
  ['a code of another shape', () => Promise.reject(new TerminalError('ENOENT', 'gone')), /crashed/],
  ['a pause', () => busy(40), /kept the event loop for \d+ ms of CPU time/],
  ['a pause after a turn', () => Promise.resolve().then(() => busy(40)), /kept the event loop/],
])('%s ends the run, with what shows it again', async (_, run, problem) => {
  const failing = fuzz(numbers(run, 20), brief);
  await expect(failing).rejects.toThrow(problem);
  await expect(failing).rejects.toThrow(/npm run fuzz -- --seed 3 --target "numbers" --case 0\ninput: \d+/);
});
