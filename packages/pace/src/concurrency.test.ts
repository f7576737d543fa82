import { describe, expect, test } from 'vitest';
import { mapConcurrently, Semaphore } from './concurrency.ts';

/** Creates work that the test ends in any order. */
function heldWork() {
  const ends = new Map<number, (error?: Error) => void>();
  const work = (item: number) =>
    new Promise<string>((resolve, reject) => {
      ends.set(item, (error) => (error ? reject(error) : resolve(`done ${item}`)));
    });
  return { ends, work, begun: () => [...ends.keys()] };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('so many at once, the next as soon as one ends, results in order', async () => {
  const { ends, work, begun } = heldWork();
  const all = mapConcurrently([1, 2, 3], 2, work);
  expect(begun()).toEqual([1, 2]);
  ends.get(2)?.();
  await turn();
  expect(begun()).toEqual([1, 2, 3]);
  ends.get(3)?.();
  ends.get(1)?.();
  expect(await all).toEqual(['done 1', 'done 2', 'done 3']);
});

test.each([
  { stopAtFailure: false, want: [1, 2, 3] },
  { stopAtFailure: true, want: [1, 2] },
])('the first failure is thrown when what was begun has ended; stops: $stopAtFailure', async ({ stopAtFailure, want }) => {
  const { ends, work, begun } = heldWork();
  let thrown: unknown;
  const all = mapConcurrently(new Set([1, 2, 3]), 2, work, { stopAtFailure }).catch((error: unknown) => {
    thrown = error;
  });
  ends.get(1)?.(new Error('first'));
  await turn();
  expect([begun(), thrown]).toEqual([want, undefined]);
  for (const item of want) ends.get(item)?.(new Error('later'));
  await all;
  expect(thrown).toEqual(new Error('first'));
});

test('nothing to do is done', async () => expect(await mapConcurrently([], 0, heldWork().work)).toEqual([]));

test('a semaphore lets tasks through in the order they came, also after one that failed', async () => {
  const semaphore = new Semaphore(1);
  const order: number[] = [];
  const run = (item: number) =>
    semaphore.run(async () => {
      order.push(item);
      await turn();
      if (item === 1) throw new Error('failed');
    });
  await Promise.allSettled([run(1), run(2), run(3)]);
  expect(order).toEqual([1, 2, 3]);
});

describe('a semaphore', () => {
  const held = () => Promise.withResolvers<void>();

  test('lets so many run at once, in order, and the next when one ends', async () => {
    const semaphore = new Semaphore(2);
    const gates = [held(), held(), held()];
    const begun: number[] = [];
    const all = gates.map(({ promise }, index) =>
      semaphore.run(async () => {
        begun.push(index);
        await promise;
      }),
    );
    expect(begun).toEqual([0, 1]);
    gates[1]?.resolve();
    await all[1];
    expect(begun).toEqual([0, 1, 2]);
    for (const { resolve } of gates) resolve();
    await Promise.all(all);
  });

  test('lets more run when it grows, and goes on after an error', async () => {
    const semaphore = new Semaphore(1);
    const gate = held();
    const begun: string[] = [];
    const run = (name: string, work: Promise<void>) =>
      semaphore.run(() => {
        begun.push(name);
        return work;
      });
    const [first, second] = [run('a', gate.promise), run('b', Promise.resolve())];
    expect(begun).toEqual(['a']);
    semaphore.width = 2;
    await second;
    expect(begun).toEqual(['a', 'b']);
    gate.reject(new Error('refused'));
    await expect(first).rejects.toThrow('refused');
    await run('c', Promise.resolve());
    expect(begun).toEqual(['a', 'b', 'c']);
  });
});
