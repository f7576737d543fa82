import { refKey } from '@flotilla/api';
import type { Manifest, ManifestId } from '../payload/manifest.ts';

/** One manifest that is to be applied. */
export interface Task {
  /** Its place among all that are applied, from 1. */
  readonly index: number;
  readonly total: number;
  readonly manifest: Manifest;
}

/** Tasks that are done one after the other, and what comes before and after them. Without tasks it only joins edges. */
export interface TaskNode {
  readonly tasks: readonly Task[];
  /** Indices of the nodes that have to be done first. */
  readonly in: readonly number[];
  /** Indices of the nodes that wait for this one. */
  readonly out: readonly number[];
}

/** Nodes that may be done at once: no two of them depend on each other. */
export type Bucket = readonly (readonly Task[])[];

/** The tasks of manifests in load order. */
export const toTasks = (manifests: readonly Manifest[]): Task[] =>
  manifests.map((manifest, index) => ({ index: index + 1, total: manifests.length, manifest }));

/** A task as messages name it: `namespace "ns/name" (3 of 900)`. */
export const textOfTask = ({ index, total, manifest }: Task): string => `${textOfObject(manifest)} (${index} of ${total})`;

/** An object as messages name it: `namespace "ns/name"`. */
export const textOfObject = (id: ManifestId): string => `${id.kind.toLowerCase()} "${refKey(id)}"`;

/** True for a Job, which parts everything before it from everything after it. */
export const isJob = ({ group, version, kind }: Manifest): boolean => group === 'batch' && version === 'v1' && kind === 'Job';

interface MutableNode {
  tasks: readonly Task[];
  in: number[];
  out: number[];
}

/** Builds a graph from one node of all tasks. */
export class TaskGraph {
  readonly #nodes: MutableNode[];

  constructor(tasks: readonly Task[]) {
    this.#nodes = [{ tasks, in: [], out: [] }];
  }

  get nodes(): readonly TaskNode[] {
    return this.#nodes;
  }

  /** Gives each task that matches a node of its own, before those that follow it in its node and after those that precede it. */
  split(matches: (manifest: Manifest) => boolean): this {
    // those that are added are looked at too
    for (let index = 0; index < this.#nodes.length; index++) {
      const node = this.#at(index);
      const at = node.tasks.length > 1 ? node.tasks.findIndex(({ manifest }) => matches(manifest)) : -1;
      if (at < 0) continue;
      const [left, right] = [node.tasks.slice(0, at), node.tasks.slice(at + 1)];
      node.tasks = node.tasks.slice(at, at + 1);
      if (left.length > 0) this.#insertBefore(index, left);
      if (right.length > 0) this.#insertAfter(index, right);
    }
    return this;
  }

  parallelize(toBuckets: (tasks: readonly Task[]) => readonly Bucket[]): this {
    const { length } = this.#nodes;
    for (let index = 0; index < length; index++) {
      const buckets = toBuckets(this.#at(index).tasks);
      if (buckets.length === 0 || (buckets.length === 1 && buckets[0]?.length === 1)) continue;
      this.#spread(index, buckets);
    }
    return this;
  }

  /** The node becomes an empty anchor before its buckets; what waited for it waits for the last of them. */
  #spread(index: number, buckets: readonly Bucket[]): void {
    const anchor = this.#at(index);
    const successors = anchor.out;
    anchor.tasks = [];
    anchor.out = [];
    let frontier = [index];
    for (const bucket of buckets) {
      // an empty node between many and many keeps the number of edges down
      if (frontier.length > 1 && bucket.length > 1) frontier = [this.#add([], frontier)];
      const before = frontier;
      frontier = bucket.map((tasks) => this.#add(tasks, before));
    }
    if (successors.length === 0) return;
    const end = this.#add([], frontier);
    this.#at(end).out = successors;
    for (const successor of successors) replace(this.#at(successor).in, index, end);
  }

  #add(tasks: readonly Task[], before: readonly number[]): number {
    const index = this.#nodes.push({ tasks, in: [...before], out: [] }) - 1;
    for (const one of before) this.#at(one).out.push(index);
    return index;
  }

  #insertBefore(index: number, tasks: readonly Task[]): void {
    const node = this.#at(index);
    const added = this.#nodes.push({ tasks, in: node.in, out: [index] }) - 1;
    for (const one of node.in) replace(this.#at(one).out, index, added);
    node.in = [added];
  }

  #insertAfter(index: number, tasks: readonly Task[]): void {
    const node = this.#at(index);
    const added = this.#nodes.push({ tasks, in: [index], out: node.out }) - 1;
    for (const one of node.out) replace(this.#at(one).in, index, added);
    node.out = [added];
  }

  #at(index: number): MutableNode {
    const node = this.#nodes[index];
    if (!node) throw new RangeError(`no node ${index}`);
    return node;
  }
}

function replace(indices: number[], from: number, to: number): void {
  const at = indices.indexOf(from);
  if (at >= 0) indices[at] = to;
}
