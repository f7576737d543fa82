import { STATUS_CODES } from 'node:http';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { ConfigMap, Secret } from '@flotilla/api/core';
import { MachineLabel } from '@flotilla/api/machine';
import { CACHED_RELEASES, readCachedReleases } from '@flotilla/api/managed';
import { createHttp, type HttpSurroundings, MAX_REDIRECTS, NO_RETRY, ServiceError } from '@flotilla/http';
import { type DockerConfig, parseDockerConfig, parseImageReference, RegistryClient, resolveImage } from '@flotilla/registry';
import {
  DEFAULT_UPDATE_SERVICE,
  nextVersions,
  parseUpdateGraph,
  refuseQuery,
  type UpdateQuery,
  updateGraphLimits,
  updateUrl,
} from '@flotilla/release/update-graph';
import type { BackOff, Client } from '@flotilla/runtime';
import type { ObservedCluster } from '@flotilla/upgrade';
import type { Ports, ReleaseSource } from '../ports.ts';
import { keptByKey } from './kept.ts';

/** Label of a release image: its version. */
const RELEASE_LABEL = 'io.openshift.release';
const PULL_SECRET = { namespace: 'openshift-config', name: 'pull-secret' };
/** A manifest and a configuration: seconds. */
const LOOK_UP_MS = 20_000;

/** An update graph changes a few times a day. */
const GRAPH_MS = 300_000;
/** A cluster has changes of its own by the dozen: none of them is a reason to ask anew. */
const BACK_OFF: BackOff = { baseMs: 5_000, maxMs: 60_000 };

interface ReleaseSourceOptions extends HttpSurroundings {
  readonly client: Pick<Client, 'get'>;
  /** `host[:port]` of registries spoken to over plain HTTP. Default none. */
  readonly insecureHosts?: readonly string[];
}

/**
 * Looks versions of images up in their registry, with the cluster's pull secret, and updates in the graph of its ClusterVersion. An answer counts for a
 * while, a failure for a shorter one.
 */
export function createReleaseSource(options: ReleaseSourceOptions): ReleaseSource & AsyncDisposable {
  const { client, insecureHosts = [], ...surroundings } = options;
  const { clock } = surroundings;
  const graph = createUpdateGraph(surroundings);
  const updatesOf = keptByKey({ clock, keepMs: GRAPH_MS, failures: BACK_OFF }, (query: UpdateQuery, signal: AbortSignal) =>
    graph.updates(query, signal),
  );
  // An image is one forever: it is named by its digest.
  const versionOf = keptByKey({ clock, keepMs: Number.POSITIVE_INFINITY, failures: BACK_OFF }, (image: string, signal: AbortSignal) =>
    lookUp(image, client, { insecureHosts, proxy: options.proxy }, signal),
  );
  return {
    versionOf,
    updates({ cluster, channel, version }, signal) {
      const { spec } = cluster.clusterVersion;
      const service = spec.upstream || DEFAULT_UPDATE_SERVICE;
      return updatesOf({ service, channel, clusterId: spec.clusterID, version, architecture: archOf(cluster) }, signal);
    },
    [Symbol.asyncDispose]: () => graph[Symbol.asyncDispose](),
  };
}

/** Architecture of the payload, not of this program. */
function archOf({ clusterVersion, nodes }: ObservedCluster): string {
  if (clusterVersion.status?.desired?.architecture === 'Multi') return 'multi';
  const node =
    nodes.find(({ metadata: { labels = {} } }) => MachineLabel.master in labels || MachineLabel.controlPlane in labels) ?? nodes[0];
  return node?.metadata.labels?.['kubernetes.io/arch'] ?? 'amd64';
}

async function lookUp(
  image: string,
  client: Pick<Client, 'get'>,
  connection: Pick<ReleaseSourceOptions, 'insecureHosts' | 'proxy'>,
  signal: AbortSignal,
): Promise<string> {
  const registry = new RegistryClient({
    credentials: await readPullSecret(client),
    insecureHosts: [...(connection.insecureHosts ?? [])],
    ...(connection.proxy && { proxy: connection.proxy }),
    retry: { attempts: 1 },
  });
  try {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(LOOK_UP_MS)]);
    const { config } = await resolveImage(registry, parseImageReference(image), { signal: bounded });
    const version = config.config?.Labels?.[RELEASE_LABEL];
    if (version) return version;
    throw new FlotillaError('FLOTILLA_NO_RELEASE', `the image has no label ${RELEASE_LABEL}`);
  } catch (cause) {
    const words = `failed to fetch image manifest digest: ${image} needs to be a valid release image: ${errorMessage(cause)}`;
    throw new FlotillaError('FLOTILLA_NO_RELEASE', words, { cause });
  } finally {
    await registry.close();
  }
}

/** Without one, or without the right to it, registries are asked as anybody. */
async function readPullSecret(client: Pick<Client, 'get'>): Promise<DockerConfig> {
  const secret = await client.get(Secret, PULL_SECRET).catch(() => undefined);
  const text = secret?.data?.['.dockerconfigjson'];
  return text ? parseDockerConfig(Buffer.from(text, 'base64').toString('utf8')) : { auths: {} };
}

const CALL_MS = 10_000;

/** Reads what the pullers of this cluster have noted. Without the ConfigMap nothing is. */
export function createCachedReleases(client: Pick<Client, 'get'>, namespace: string): Ports['cachedReleases'] {
  return {
    async read(signal) {
      const map = await client.get(ConfigMap, { namespace, name: CACHED_RELEASES }, { signal, timeoutMs: CALL_MS });
      return readCachedReleases(map?.data ?? {});
    },
  };
}

/** Characters of a refusal that stand in the condition. */
const WORDS = 256;

/** A client of update graphs (spec/muo 4.6); it asks once, the next look is the retry. */
export function createUpdateGraph(surroundings: HttpSurroundings) {
  const { bytes: maxBytes } = updateGraphLimits;
  const http = createHttp({ retry: NO_RETRY, ...surroundings, name: 'update graph', maxBytes, redirects: MAX_REDIRECTS });
  return {
    /** Versions that the cluster may go to; conditional ones among them, whatever their risks. */
    async updates(query: UpdateQuery, signal: AbortSignal): Promise<readonly string[]> {
      const { reason, message } = refuseQuery(query) ?? {};
      if (reason) throw new FlotillaError('FLOTILLA_UPDATE_QUERY_INVALID', `${reason}: ${message}`);
      const { text } = await http.send({ method: 'GET', url: updateUrl(query), signal }).catch(inWordsOfTheReference);
      const { version, channel } = query;
      const next = nextVersions(parseUpdateGraph(text), version);
      if (next) return next;
      const why = `currently reconciling cluster version ${version} not found in the ${JSON.stringify(channel)} channel`;
      throw new FlotillaError('FLOTILLA_VERSION_NOT_FOUND', `VersionNotFound: ${why}`);
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

function inWordsOfTheReference(error: unknown): never {
  if (!(error instanceof ServiceError) || error.status < 300) throw error;
  const status = `ResponseFailed: unexpected HTTP status: ${error.status} ${STATUS_CODES[error.status] ?? ''}`.trimEnd();
  throw new FlotillaError(error.code, error.words ? `${status}: ${error.words.slice(0, WORDS)}` : status, { cause: error });
}
