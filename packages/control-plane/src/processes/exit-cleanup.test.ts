import { expect, test } from 'vitest';
import { registerStop, runCleanups } from './exit-cleanup.ts';

test('an interrupt waits for an end that its owner has begun', async () => {
  const release = Promise.withResolvers<void>();
  let ends = 0;
  const stop = registerStop(async () => {
    await release.promise;
    ends += 1;
  });
  const stopped = stop();
  const cleaned = runCleanups().then(() => ends);
  release.resolve();
  expect(await cleaned).toBe(1);
  await Promise.all([stopped, stop()]);
  expect(ends).toBe(1);
});

test('what has ended is not ended again, and a failed end is told to the interrupt', async () => {
  let ends = 0;
  await registerStop(async () => {
    ends += 1;
  })();
  registerStop(async () => {
    throw new Error('will not go');
  });
  await expect(runCleanups()).rejects.toThrow('will not go');
  expect(ends).toBe(1);
  await runCleanups();
});
