import { fileNameOf, type Manifest, type TaskNode } from '@flotilla/release';

/** A manifest in a command's output. */
interface PrintedManifest {
  /** Name of its file, without the folder. */
  readonly file: string;
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** Selects a manifest's printed fields. */
export const printed = (manifest: Manifest): PrintedManifest => ({
  file: fileNameOf(manifest),
  kind: manifest.kind,
  namespace: manifest.namespace,
  name: manifest.name,
});

/** Renders rows below a heading, with columns of the needed width. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ')}`.trimEnd()).join('\n');
}

/** Renders a graph as JSON: nodes with their manifests and predecessors. */
export const graphAsJson = (nodes: readonly TaskNode[]): string =>
  JSON.stringify({
    nodes: nodes.map(({ tasks, in: after }, index) => ({
      id: idOf(index),
      manifests: tasks.map(({ manifest }) => printed(manifest)),
      after: after.map(idOf),
    })),
  });

const idOf = (index: number): string => `n${index}`;

/** Renders a graph for Graphviz. */
export function graphAsDot(nodes: readonly TaskNode[]): string {
  const boxes = nodes.map((node, index) => `  ${idOf(index)} [label=${JSON.stringify(labelOf(node).join('\n'))}, shape=box];`);
  const edges = nodes.flatMap(({ out }, index) => out.map((next) => `  ${idOf(index)} -> ${idOf(next)};`));
  return ['digraph tasks {', ...boxes, ...edges, '}'].join('\n');
}

/** Renders a graph for Mermaid. */
export function graphAsMermaid(nodes: readonly TaskNode[]): string {
  const boxes = nodes.map((node, index) => `  ${idOf(index)}["${labelOf(node).map(escapeMermaid).join('<br/>')}"]`);
  const edges = nodes.flatMap(({ out }, index) => out.map((next) => `  ${idOf(index)} --> ${idOf(next)}`));
  return ['flowchart LR', ...boxes, ...edges].join('\n');
}

const escapeMermaid = (text: string): string => text.replaceAll(/["<>&#]/g, (sign) => `#${sign.charCodeAt(0)};`);

function labelOf({ tasks }: TaskNode): string[] {
  if (tasks.length === 0) return ['no manifests'];
  return tasks.map(({ manifest: { kind, namespace, name } }) => `${kind} ${namespace === '' ? name : `${namespace}/${name}`}`);
}
