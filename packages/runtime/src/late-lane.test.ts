import { describe, expect, it } from 'vitest';
import { LateLane } from './late-lane.ts';

describe('LateLane', () => {
  it('gives every so manieth run to what waits longest, whatever its priority', () => {
    const lane = new LateLane({ from: 3, every: 2 });
    lane.waits('urgent', 1);
    lane.waits('far', 9);
    lane.waits('near', 3);
    expect([1, 2, 3, 4, 5, 6].map(() => lane.next(10))).toEqual([undefined, 'far', undefined, 'near', undefined, undefined]);
  });

  it('keeps the place of a step that is woken again, and forgets one that became urgent or was run', () => {
    const lane = new LateLane({ from: 3, every: 1 });
    for (const key of ['a', 'b', 'c', 'd']) lane.waits(key, 5);
    lane.waits('a', 4);
    lane.waits('b', 0);
    lane.leaves('c');
    expect([lane.next(10), lane.next(10), lane.next(10)]).toEqual(['a', 'd', undefined]);
  });

  it('does nothing while nobody is overtaken, or when nothing is reserved', () => {
    const lane = new LateLane({ from: 3, every: 1 });
    lane.waits('a', 5);
    expect(lane.next(1)).toBeUndefined();
    expect(lane.next(2)).toBe('a');
    const none = new LateLane(undefined);
    none.waits('a', 5);
    expect(none.next(2)).toBeUndefined();
  });
});
