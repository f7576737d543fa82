import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

test('acts follow one another, also after one that fails', async () => {
  const turns = new Turns();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const acts = [
    turns.take(async () => {
      await first.promise;
      done.push('first');
      throw new Error('refused');
    }),
    turns.take(async () => void done.push('second')),
  ];
  await Promise.resolve();
  expect(done).toEqual([]);
  first.resolve();
  await expect(acts[0]).rejects.toThrow('refused');
  await acts[1];
  expect(done).toEqual(['first', 'second']);
});
