import { type TaskNode, textOfTask } from './task-graph.ts';

interface RunGraphOptions {
  /** Nodes that are worked on at once; less than one counts as one. */
  readonly workers: number;
  /** Ends the pass: no node is begun after it. Those under way are not left; they look at the signal themselves. */
  readonly signal: AbortSignal;
}

/**
 * Works off a graph: a node begins when all before it are done, the one with the lowest index first. A node that fails keeps those behind
 * it from beginning, and nothing else. Resolves to the errors of the nodes, in the order of their indices. Where none failed and yet nodes
 * are left over, it resolves to an error that names the first.
 */
export async function runGraph(
  nodes: readonly TaskNode[],
  run: (node: TaskNode) => Promise<void>,
  options: RunGraphOptions,
): Promise<unknown[]> {
  const { signal } = options;
  const workers = Math.max(1, options.workers);
  const waitsFor = nodes.map((node) => new Set(node.in));
  const errors = new Map<number, unknown>();
  const running = new Map<number, Promise<void>>();
  const begun = new Set<number>();
  const ended = new Set<number>();
  const begin = async (index: number, node: TaskNode): Promise<void> => {
    try {
      if (node.tasks.length > 0) await run(node);
      ended.add(index);
      for (const next of node.out) waitsFor[next]?.delete(index);
    } catch (error) {
      errors.set(index, error);
    }
  };
  for (;;) {
    for (const [index, node] of nodes.entries()) {
      if (signal.aborted || running.size >= workers) break;
      if (begun.has(index) || waitsFor[index]?.size !== 0) continue;
      begun.add(index);
      running.set(
        index,
        begin(index, node).then(() => void running.delete(index)),
      );
    }
    if (running.size === 0) break;
    await Promise.race(running.values());
  }
  if (errors.size > 0) return [...errors].sort(([a], [b]) => a - b).map(([, error]) => error);
  return ended.size === nodes.length
    ? []
    : [
        incomplete(
          nodes.filter((_, index) => !ended.has(index)),
          signal,
        ),
      ];
}

function incomplete(left: readonly TaskNode[], signal: AbortSignal): Error {
  const [first] = left.find(({ tasks }) => tasks.length > 0)?.tasks ?? [];
  const beginning = first === undefined ? '' : `, beginning with ${textOfTask(first)}`;
  return new Error(`${left.length} incomplete task nodes${beginning}`, { cause: signal.reason });
}
