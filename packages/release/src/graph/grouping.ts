import { fileNameOf, type Manifest } from '../payload/manifest.ts';
import type { Bucket, Task } from './task-graph.ts';

/** Run level and component, as the name of a file tells them. */
export interface FileGroup {
  /** As it is written: `05` is not `5`. */
  readonly level: string;
  readonly component: string;
}

/** Reads `0000_<level>_<component>_…`; undefined for another name. */
export function fileGroupOf(manifest: Pick<Manifest, 'file'>): FileGroup | undefined {
  const [, level, component] = /^0000_(\d+)_([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*)_/.exec(fileNameOf(manifest)) ?? [];
  return level === undefined || component === undefined ? undefined : { level, component };
}

interface Chunk {
  readonly group: FileGroup | undefined;
  readonly tasks: Task[];
}

/** Neighbours of one level and component; a file of another name stands alone. Nothing is sorted. */
function chunksOf(tasks: readonly Task[]): Chunk[] {
  const chunks: Chunk[] = [];
  for (const task of tasks) {
    const group = fileGroupOf(task.manifest);
    const last = chunks.at(-1);
    if (group && last?.group?.level === group.level && last.group.component === group.component) last.tasks.push(task);
    else chunks.push({ group, tasks: [task] });
  }
  return chunks;
}

/**
 * The order of an update: levels one after the other, in each its components at once. Neighbouring levels of a single component become
 * one node.
 */
export function byNumberAndComponent(tasks: readonly Task[]): Bucket[] {
  if (tasks.length <= 1) return [];
  const buckets: Task[][][] = [];
  let single: Task[] | undefined;
  const chunks = chunksOf(tasks);
  for (let from = 0, to = 0; from < chunks.length; from = to) {
    const level = chunks[from]?.group?.level;
    for (to = from + 1; level !== undefined && chunks[to]?.group?.level === level; ) to++;
    const components = chunks.slice(from, to).map((chunk) => chunk.tasks);
    const [first = []] = components;
    if (components.length > 1) {
      buckets.push(components);
      single = undefined;
    } else if (single) single.push(...first);
    else {
      single = first;
      buckets.push([single]);
    }
  }
  return buckets;
}

/** The order of an install and of reconciling: every component of every level at once. */
export const flattenByNumberAndComponent = (tasks: readonly Task[]): Bucket[] =>
  tasks.length <= 1 ? [] : [chunksOf(tasks).map((chunk) => chunk.tasks)];
