import type { Manifest } from '../payload/manifest.ts';
import { byNumberAndComponent, flattenByNumberAndComponent } from './grouping.ts';
import { permuteOrder, shiftOrder } from './order.ts';
import { isJob, TaskGraph, type TaskNode, toTasks } from './task-graph.ts';

/** What a payload is applied for. */
const payloadStates = ['Initializing', 'Updating', 'Reconciling', 'Precreating'] as const;
export type PayloadState = (typeof payloadStates)[number];

/** How often a task is tried before its node fails. */
interface TaskBackoff {
  readonly attempts: number;
  /** What is waited after each attempt but the last, milliseconds. */
  readonly delaysMs: readonly number[];
}

/** How a payload is applied. */
export interface ApplyPlan {
  readonly state: PayloadState;
  readonly nodes: readonly TaskNode[];
  /** Nodes that are worked on at once. */
  readonly workers: number;
  readonly backoff: TaskBackoff;
}

const SHIFT_STRIDE = 8;
const steadyBackoff: TaskBackoff = { attempts: 2, delaysMs: [10_000] };

/**
 * Plans how manifests are applied, in load order.
 * @param attempt how many tries have failed before this one: reconciling begins elsewhere each time
 */
export function planApply(manifests: readonly Manifest[], state: PayloadState, attempt = 0): ApplyPlan {
  const graph = new TaskGraph(toTasks(manifests)).split(isJob);
  switch (state) {
    case 'Initializing': {
      const { nodes } = graph.parallelize(flattenByNumberAndComponent);
      return { state, nodes, workers: Math.max(1, nodes.length), backoff: { attempts: 4, delaysMs: [1_000, 2_000, 4_000] } };
    }
    case 'Updating':
      return { state, nodes: graph.parallelize(byNumberAndComponent).nodes, workers: 16, backoff: steadyBackoff };
    case 'Reconciling': {
      const seed = Math.floor(attempt / SHIFT_STRIDE);
      const { nodes } = graph.parallelize((tasks) =>
        shiftOrder(permuteOrder(flattenByNumberAndComponent(tasks), seed), attempt % SHIFT_STRIDE, SHIFT_STRIDE),
      );
      return { state, nodes, workers: 2, backoff: steadyBackoff };
    }
    case 'Precreating':
      return { state, nodes: graph.nodes, workers: 1, backoff: { attempts: 1, delaysMs: [] } };
  }
}

/** A cluster as far as the first work on it depends on it. */
interface FirstWork {
  /** `status.history` of the ClusterVersion, newest first. */
  readonly history: readonly { readonly state: string; readonly image: string }[];
  /** Release image that is wanted. */
  readonly image: string;
}

/** What the first work after a start is for. */
export function firstState({ history, image }: FirstWork): PayloadState {
  if (!history.some(({ state }) => state === 'Completed')) return 'Initializing';
  return history[0]?.state === 'Completed' && history[0].image === image ? 'Reconciling' : 'Updating';
}
