import { dirname } from 'node:path';

/** The npm package of a specifier; undefined for files and Node's own modules. */
export function packageOf(specifier: string): string | undefined {
  if (/^(\.|\/|node:)/.test(specifier)) return undefined;
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

/** One cycle of a graph, first node repeated at its end, or nothing. */
export function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return [];
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node]);
      if (cycle.length > 0) return cycle;
    }
    done.add(node);
    return [];
  };
  for (const node of graph.keys()) {
    const cycle = visit(node, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

/** Everything that a node leads to; itself when it is in a cycle. */
function reachable(graph: ReadonlyMap<string, ReadonlySet<string>>, from: string): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [...(graph.get(from) ?? [])];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (found.has(node)) continue;
    found.add(node);
    open.push(...(graph.get(node) ?? []));
  }
  return found;
}

/** Nodes that lead back to themselves, sorted. */
function inCircles(arrows: Iterable<readonly [string, string]>): string[] {
  const graph = new Map<string, Set<string>>();
  for (const [from, to] of arrows) if (from !== to) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  return [...graph.keys()].filter((node) => reachable(graph, node).has(node)).toSorted();
}

/** What joins others counts by file: directly in `src`, or an index. */
const JOINS_OTHERS = /^((packages|apps)\/[^/]+\/src\/[^/]+|.*\/index\.ts)$/;
const roomOf = (file: string): string => (JOINS_OTHERS.test(file) ? file : dirname(file));

/** Folders whose files import one another, by the imports between files. */
export const foldersInCircles = (arrows: readonly (readonly [string, string])[]): string[] =>
  inCircles(arrows.map(([from, to]) => [roomOf(from), roomOf(to)]));

/** Entries of one folder that import one another, where a folder stands for all that is in it. An index joins everything and is no part. */
export function siblingsInCircles(arrows: readonly (readonly [string, string])[]): string[] {
  const between = arrows.filter(([from]) => !from.endsWith('/index.ts'));
  return inCircles(
    between.map(([from, to]) => {
      const [source, target] = [from.split('/'), to.split('/')];
      const parted = source.findIndex((part, at) => part !== target[at]);
      return [source.slice(0, parted + 1).join('/'), target.slice(0, parted + 1).join('/')];
    }),
  );
}

/**
 * Names of exports that no comment stands above. A group of one-line exports shares the comment of the first, and what is derived from a
 * constant above (`z.output<typeof X>`, `keyof typeof X`) is described there.
 */
export function undocumentedExports(source: string): string[] {
  const lines = source.split('\n');
  const names: string[] = [];
  const told = new Set<string>();
  let lastTold = -2;
  for (const [at, line] of lines.entries()) {
    const name = /^export (?:async |abstract )*(?:function\*?|const|class|interface|type) (\w+)/.exec(line)?.[1];
    if (name === undefined) continue;
    const isDerived = /= (?:z\.output<|keyof |\()typeof \w+/.test(line);
    const isTold = /\*\/\s*$/.test(lines[at - 1] ?? '') || lastTold === at - 1 || isDerived || told.has(name);
    if (isTold) {
      lastTold = at;
      told.add(name);
    } else names.push(name);
  }
  return names;
}
