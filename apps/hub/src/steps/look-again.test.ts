import { WaitingError } from '@flotilla/api';
import { expect, test } from 'vitest';
import { lookAgain } from './look-again.ts';

/** Creates a step whose watches are current after so many runs. */
const seenAfter = (looks: number) => {
  let left = looks;
  const step = lookAgain(async () => left-- <= 0);
  return (cluster: string) => step({ kind: 'rollout', upgrade: 'uid-1', cluster }, new AbortController().signal);
};

test('what the watches show at once is done at once', async () => {
  await expect(seenAfter(0)('a')).resolves.toBeUndefined();
});

test('what they do not show yet is looked for again, later each time', async () => {
  const step = seenAfter(2);
  const delays: number[] = [];
  for (let look = 0; look < 2; look += 1)
    await step('a').catch((error: unknown) => error instanceof WaitingError && delays.push(error.retryAfterMs));
  expect(delays).toEqual([150, 500]);
  await expect(step('a')).resolves.toBeUndefined();
});

test('what never shows is taken for done, and counted anew when it is asked for again', async () => {
  const step = seenAfter(100);
  const look = (key: string) =>
    step(key).then(
      () => 'done',
      () => 'again',
    );
  const looks: string[] = [];
  for (let n = 0; n < 5; n += 1) looks.push(await look('a'));
  expect(looks).toEqual(['again', 'again', 'again', 'done', 'again']);
  expect(await look('b')).toBe('again');
});
