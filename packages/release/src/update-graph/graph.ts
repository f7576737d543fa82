import { errorMessage, foreign } from '@flotilla/api';
import { z } from 'zod';
import { quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';

/** Bounds of an update graph; those of today have a few thousand releases. */
export const updateGraphLimits = {
  /** Bytes of its text that are worth reading. */
  bytes: 2 ** 23,
  nodes: 20_000,
  edges: 200_000,
  conditionalEdges: 20_000,
} as const;

const Rule = z.object({ type: z.string().default(''), promql: z.object({ promql: z.string().default('') }).nullish() });
const Risk = z.object({
  url: z.string().default(''),
  name: z.string().default(''),
  message: z.string().default(''),
  matchingRules: z.array(Rule).nullish(),
});

type Edge = readonly [from: number, to: number];

/** Finds the fault of an edge; edges are checked by hand, as there are a great many. */
function edgeProblem(edge: unknown): string | undefined {
  if (!Array.isArray(edge) || edge.length !== 2) return 'must be two positions in nodes';
  return edge.every((end) => Number.isInteger(end) && end >= 0) ? undefined : 'must be two whole numbers from 0';
}

const Edges = z
  .array(z.unknown())
  .max(updateGraphLimits.edges)
  .nullish()
  .transform((edges, context): Edge[] => {
    const wrong = edges?.findIndex((edge) => edgeProblem(edge) !== undefined) ?? -1;
    if (wrong >= 0) context.addIssue({ code: 'custom', path: [wrong], message: edgeProblem(edges?.[wrong]) ?? '' });
    return (edges ?? []).flatMap((edge) => (isEdge(edge) ? [edge] : []));
  });
const isEdge = (edge: unknown): edge is Edge => edgeProblem(edge) === undefined;

/** An update graph as its service sends it; versions are texts that nobody has checked. */
const Graph = foreign(
  z.object({
    nodes: z
      .array(
        z.object({
          version: z.string().default(''),
          payload: z.string().default(''),
          metadata: z.record(z.string(), z.unknown()).nullish(),
        }),
      )
      .max(updateGraphLimits.nodes)
      .nullish()
      .transform((nodes) => nodes ?? []),
    edges: Edges,
    conditionalEdges: z
      .array(
        z.object({
          edges: z.array(z.object({ from: z.string().default(''), to: z.string().default('') })).nullish(),
          risks: z.array(Risk).nullish(),
        }),
      )
      .max(updateGraphLimits.conditionalEdges)
      .nullish()
      .transform((edges) => edges ?? []),
  }),
);

/** Releases, which of them are updates of which, and which are under conditions. */
export type UpdateGraph = z.output<typeof Graph>;
/** A reason not to take an update, as a service tells it. */
export type GraphRisk = z.output<typeof Risk>;

/**
 * Parses the text of an update graph.
 * @throws ReleaseError `FLOTILLA_UPDATE_GRAPH_INVALID` naming the field
 */
export function parseUpdateGraph(text: string): UpdateGraph {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw invalidGraph(errorMessage(cause), cause);
  }
  const graph = Graph.safeParse(body);
  if (!graph.success) {
    const issue = graph.error.issues[0];
    throw invalidGraph(`${issue?.path.join('.') || 'the document'}: ${issue?.message}`, graph.error);
  }
  const { nodes, edges } = graph.data;
  const astray = edges.find((edge) => edge.some((end) => end >= nodes.length));
  if (astray) throw invalidGraph(`edges: ${quoted(JSON.stringify(astray))} names a node that is not there: there are ${nodes.length}`);
  return graph.data;
}

/** Images of a graph's releases; the first node of a version that has an image counts. */
export function releaseImages({ nodes }: UpdateGraph): ReadonlyMap<string, string> {
  const images = new Map<string, string>();
  for (const { version, payload } of nodes) if (payload !== '' && !images.has(version)) images.set(version, payload);
  return images;
}

/** Versions that one may go to, conditional ones too, whatever their risks; undefined where it is not in the graph. */
export function nextVersions({ nodes, edges, conditionalEdges }: UpdateGraph, version: string): readonly string[] | undefined {
  const at = nodes.findIndex((node) => node.version === version);
  if (at < 0) return undefined;
  const plain = edges.filter(([from]) => from === at).flatMap(([, to]) => nodes[to]?.version ?? []);
  const conditional = conditionalEdges.flatMap((each) => (each.edges ?? []).filter(({ from }) => from === version).map(({ to }) => to));
  return [...new Set([...plain, ...conditional])];
}

/** Error about a body that is no update graph. */
export const invalidGraph = (why: string, cause?: unknown): ReleaseError =>
  new ReleaseError(ReleaseErrorCode.updateGraphInvalid, why, { cause });
