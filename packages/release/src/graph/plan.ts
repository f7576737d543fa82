import type { Manifest } from '../payload/manifest.ts';
import { byNumberAndComponent, flattenByNumberAndComponent } from './grouping.ts';
import type { Bucket } from './task-graph.ts';
import { isJob, TaskGraph, type TaskNode, toTasks } from './task-graph.ts';

/** Purpose for which a payload is applied. */
export type PayloadState = 'Initializing' | 'Updating' | 'Reconciling';

/** Graph of tasks, and the number of workers that apply it. */
export interface ApplyPlan {
  readonly nodes: readonly TaskNode[];
  readonly workers: number;
}

const SHIFT_STRIDE = 8;

/**
 * Plans how manifests are applied, in load order.
 * @param attempt how many tries have failed before this one: reconciling begins elsewhere each time
 */
export function planApply(manifests: readonly Manifest[], state: PayloadState, attempt = 0): ApplyPlan {
  const graph = new TaskGraph(toTasks(manifests)).split(isJob);
  switch (state) {
    case 'Initializing': {
      const { nodes } = graph.parallelize(flattenByNumberAndComponent);
      return { nodes, workers: Math.max(1, nodes.length) };
    }
    case 'Updating':
      return { nodes: graph.parallelize(byNumberAndComponent).nodes, workers: 16 };
    case 'Reconciling': {
      const seed = Math.floor(attempt / SHIFT_STRIDE);
      const { nodes } = graph.parallelize((tasks) =>
        shiftOrder(permuteOrder(flattenByNumberAndComponent(tasks), seed), attempt % SHIFT_STRIDE, SHIFT_STRIDE),
      );
      return { nodes, workers: 2 };
    }
  }
}

interface FirstWork {
  /** `status.history` of the ClusterVersion, newest first. */
  readonly history: readonly { readonly state: string; readonly image: string }[];
  readonly image: string;
}

/** Purpose of the first work after a start. */
export function firstState({ history, image }: FirstWork): PayloadState {
  if (!history.some(({ state }) => state === 'Completed')) return 'Initializing';
  return history[0]?.state === 'Completed' && history[0].image === image ? 'Reconciling' : 'Updating';
}

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
