import { STATUS_CODES } from 'node:http';
import { FlotillaError } from '@flotilla/api';
import { MAX_REDIRECTS } from '@flotilla/http';
import { z } from 'zod';
import { ServiceError } from './errors.ts';
import { createHttp, type HttpSurroundings, NO_RETRY } from './http.ts';

/** Update graph of clusters that name none. */
export const DEFAULT_UPSTREAM = 'https://api.openshift.com/api/upgrades_info/v1/graph';

/** Cluster that asks for updates, with its channel and version. */
export interface GraphQuestion {
  readonly upstream: string;
  readonly channel: string;
  /** A UUID. */
  readonly clusterId: string;
  readonly version: string;
  /** Architecture of the payload: `amd64`, `multi`. */
  readonly arch: string;
}

const Edge = z.object({ from: z.string(), to: z.string() });
const Graph = z.object({
  nodes: z.array(z.object({ version: z.string() })).default([]),
  edges: z.array(z.tuple([z.int(), z.int()])).default([]),
  conditionalEdges: z.array(z.object({ edges: z.array(Edge).default([]) })).nullish(),
});

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MAX_GRAPH_BYTES = 32 * 1024 * 1024;
/** Characters of a refusal that stand in the condition. */
const WORDS = 256;

/** A client of update graphs (spec/muo 4.6); it asks once, the next look is the retry. */
export function createUpdateGraph(surroundings: HttpSurroundings) {
  const http = createHttp({ retry: NO_RETRY, ...surroundings, name: 'update graph', maxBytes: MAX_GRAPH_BYTES, redirects: MAX_REDIRECTS });
  return {
    /** Versions that the cluster may go to; conditional ones among them, whatever their risks. */
    async updates({ upstream, channel, clusterId, version, arch }: GraphQuestion, signal: AbortSignal): Promise<readonly string[]> {
      if (!UUID.test(clusterId))
        throw new FlotillaError(
          'FLOTILLA_CLUSTER_ID_INVALID',
          `spec.clusterID of the ClusterVersion is ${JSON.stringify(clusterId)}: it must be a UUID`,
        );
      if (!URL.canParse(upstream))
        throw new FlotillaError(
          'FLOTILLA_UPSTREAM_INVALID',
          `spec.upstream of the ClusterVersion is ${JSON.stringify(upstream)}: it must be a URL`,
        );
      const url = new URL(upstream);
      for (const [name, value] of Object.entries({ arch, channel, id: clusterId, version })) url.searchParams.set(name, value);
      const { nodes, edges, conditionalEdges } = await http.json(Graph, { method: 'GET', url, signal }).catch(inWordsOfTheReference);
      const at = nodes.findIndex((node) => node.version === version);
      if (at < 0)
        throw new FlotillaError(
          'FLOTILLA_VERSION_NOT_FOUND',
          `VersionNotFound: currently reconciling cluster version ${version} not found in the ${JSON.stringify(channel)} channel`,
        );
      const plain = edges.filter(([from]) => from === at).flatMap(([, to]) => nodes[to]?.version ?? []);
      const conditional = (conditionalEdges ?? []).flatMap((each) => each.edges.filter(({ from }) => from === version).map(({ to }) => to));
      return [...new Set([...plain, ...conditional])];
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

function inWordsOfTheReference(error: unknown): never {
  if (!(error instanceof ServiceError) || error.status < 300) throw error;
  const status = `ResponseFailed: unexpected HTTP status: ${error.status} ${STATUS_CODES[error.status] ?? ''}`.trimEnd();
  throw new FlotillaError(error.code, error.words ? `${status}: ${error.words.slice(0, WORDS)}` : status, { cause: error });
}
