import { WaitingError } from '@flotilla/api';
import { expect, test } from 'vitest';
import { retryWhileBehind } from './behind-caches.ts';

/** Creates a step whose watches are current after so many runs. */
const currentAfter = (runs: number) => {
  let left = runs;
  const step = retryWhileBehind(async () => left-- <= 0);
  return (cluster: string) => step({ kind: 'rollout', upgrade: 'uid-1', cluster }, new AbortController().signal);
};

test('a step whose watches are current is done at once', async () => {
  await expect(currentAfter(0)('a')).resolves.toBeUndefined();
});

test('a step that lags behind its event is retried, later each time', async () => {
  const step = currentAfter(2);
  const delays: number[] = [];
  for (let run = 0; run < 2; run += 1)
    await step('a').catch((error: unknown) => error instanceof WaitingError && delays.push(error.retryAfterMs));
  expect(delays).toEqual([150, 500]);
  await expect(step('a')).resolves.toBeUndefined();
});

test('a step that never writes counts as done, and its retries start anew', async () => {
  const step = currentAfter(100);
  const outcome = (key: string) =>
    step(key).then(
      () => 'done',
      () => 'again',
    );
  const outcomes: string[] = [];
  for (let n = 0; n < 5; n += 1) outcomes.push(await outcome('a'));
  expect(outcomes).toEqual(['again', 'again', 'again', 'done', 'again']);
  expect(await outcome('b')).toBe('again');
});
