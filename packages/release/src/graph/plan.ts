import type { Manifest } from '../payload/manifest.ts';
import { byNumberAndComponent, flattenByNumberAndComponent } from './grouping.ts';
import { permuteOrder, shiftOrder } from './order.ts';
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
