import { fileNameOf, type Manifest, type TaskNode } from '@flotilla/release';
import { safeJson, safeText } from '../terminal/output.ts';

/** A manifest as commands print it. */
interface PrintedManifest {
  /** Name of its file, without the folder. */
  readonly file: string;
  readonly kind: string;
  /** Empty for what has none. */
  readonly namespace: string;
  readonly name: string;
}

/** Fields of a manifest that commands print. */
export const printed = (manifest: Manifest): PrintedManifest => ({
  file: fileNameOf(manifest),
  kind: manifest.kind,
  namespace: manifest.namespace,
  name: manifest.name,
});

/** A graph as JSON: nodes with what they apply and what comes before them. */
export const graphAsJson = (nodes: readonly TaskNode[]): string =>
  safeJson({
    nodes: nodes.map(({ tasks, in: after }, index) => ({
      id: idOf(index),
      manifests: tasks.map(({ manifest }) => printed(manifest)),
      after: after.map(idOf),
    })),
  });

const idOf = (index: number): string => `n${index}`;

/** A graph for Graphviz. */
export function graphAsDot(nodes: readonly TaskNode[]): string {
  const boxes = nodes.map((node, index) => `  ${idOf(index)} [label=${safeJson(labelOf(node).join('\n'))}, shape=box];`);
  const edges = nodes.flatMap(({ out }, index) => out.map((next) => `  ${idOf(index)} -> ${idOf(next)};`));
  return ['digraph tasks {', ...boxes, ...edges, '}'].join('\n');
}

/** A graph for Mermaid. */
export function graphAsMermaid(nodes: readonly TaskNode[]): string {
  const boxes = nodes.map((node, index) => `  ${idOf(index)}["${labelOf(node).map(escapeMermaid).join('<br/>')}"]`);
  const edges = nodes.flatMap(({ out }, index) => out.map((next) => `  ${idOf(index)} --> ${idOf(next)}`));
  return ['flowchart LR', ...boxes, ...edges].join('\n');
}

const escapeMermaid = (text: string): string => text.replaceAll(/["<>&#]/g, (sign) => `#${sign.charCodeAt(0)};`);

function labelOf({ tasks }: TaskNode): string[] {
  if (tasks.length === 0) return ['no manifests'];
  return tasks.map(({ manifest: { kind, namespace, name } }) => safeText(`${kind} ${namespace === '' ? name : `${namespace}/${name}`}`));
}
