import { describe, expect, it } from 'vitest';
import { Coalescer } from './coalescer.ts';

/** Creates a coalescer whose sends end when the test releases them. */
function held() {
  const sent: number[][] = [];
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const coalescer = new Coalescer<number>((items) => {
    sent.push([...items]);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    ends.push({ resolve, reject });
    return promise;
  });
  return { coalescer, sent, ends };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('Coalescer', () => {
  it('sends what one turn brings together, and what comes meanwhile in the next', async () => {
    const { coalescer, sent, ends } = held();
    const first = [coalescer.submit(1), coalescer.submit(2)];
    await turn();
    await turn();
    expect(sent).toEqual([[1, 2]]);
    const second = coalescer.submit(3);
    void coalescer.submit(4);
    await turn();
    await turn();
    expect(sent).toHaveLength(1);
    ends[0]?.resolve();
    await Promise.all(first);
    await turn();
    await turn();
    expect(sent).toEqual([
      [1, 2],
      [3, 4],
    ]);
    ends[1]?.resolve();
    await second;
    await coalescer.idle();
  });

  it('rejects what a failed sending carried, and goes on', async () => {
    const { coalescer, sent, ends } = held();
    const refused = coalescer.submit(1);
    await turn();
    await turn();
    const next = coalescer.submit(2);
    ends[0]?.reject(new Error('store is away'));
    await expect(refused).rejects.toThrow('store is away');
    await turn();
    await turn();
    ends[1]?.resolve();
    await next;
    expect(sent).toEqual([[1], [2]]);
  });
});
