import type { Bucket } from './task-graph.ts';

/** Buckets whose nodes begin later with each step, and are back at the beginning after `stride` of them. */
export function shiftOrder(buckets: readonly Bucket[], step: number, stride: number): Bucket[] {
  return buckets.map((bucket) => {
    const { length } = bucket;
    if (length === 0) return bucket;
    const by = length < stride ? step % length : Math.floor((step * length) / stride) % length;
    return [...bucket.slice(by), ...bucket.slice(0, by)];
  });
}

/** Buckets in an order that a seed decides: the same for the same seed. */
export function permuteOrder(buckets: readonly Bucket[], seed: number): Bucket[] {
  const random = seededRandom(seed);
  return buckets.map((bucket) => {
    const nodes = [...bucket];
    for (let last = nodes.length - 1; last > 0; last--) {
      const other = Math.floor(random() * (last + 1));
      const [a, b] = [nodes[last], nodes[other]];
      if (a && b) [nodes[last], nodes[other]] = [b, a];
    }
    return nodes;
  });
}

/** Numbers from 0 to 1 (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
