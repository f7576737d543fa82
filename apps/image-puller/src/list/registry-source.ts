import {
  type DockerConfig,
  formatImageReference,
  isDenied,
  isTransient,
  parseDockerConfig,
  parseImageReference,
  RegistryClient,
  type ResolvedImage as RegistryImage,
  readLayerFiles,
  resolveImage,
} from '@flotilla/registry';
import { systemClock } from '@flotilla/runtime';
import { openBandwidth } from '../bandwidth.ts';
import type { Config } from '../config.ts';
import { readNodeRegistries } from '../node-registries.ts';
import { type RetryOptions, withRetries } from '../retry.ts';
import { readSmallFile } from '../small-file.ts';
import type { ImageSource, ListContent, ResolvedImage } from './image-source.ts';

/**
 * Reads the pull secret; a missing file means none.
 * @throws RegistryError for malformed text, without quoting it
 */
export async function readPullSecret(path: string): Promise<DockerConfig> {
  const text = await readSmallFile(path, 'PULL_SECRET_PATH');
  return text === undefined ? { auths: {} } : parseDockerConfig(text);
}

/**
 * Opens a registry client with the node's mirrors, trust and proxies, the pull secret and the cap.
 * @throws the error of reading the node's files
 */
export async function openRegistryClient(config: Config, credentials: DockerConfig): Promise<RegistryClient> {
  const registries = await readNodeRegistries(config);
  const bandwidth = openBandwidth(config.bytesPerSecond, systemClock);
  return new RegistryClient({
    ...registries,
    credentials,
    ...(bandwidth && { bandwidth }),
    proxy: config.proxy,
    userAgent: 'flotilla-image-puller',
  });
}

/** Creates the source. Each pull spec is resolved once, and transient failures are retried. Content keeps what is read. */
export function createRegistrySource(
  client: RegistryClient,
  retry: Omit<RetryOptions, 'isTransient' | 'signal'>,
  content?: ListContent,
): ImageSource {
  const store = content?.documents;
  const originals = new Map<string, RegistryImage>();
  const refused = new WeakSet<object>();
  const isPassing = (error: unknown): boolean => isTransient(error) && !refused.has(Object(error));
  const attempt = <T>(pullSpec: string, call: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    const classified = (): Promise<T> =>
      call().catch(async (error: unknown) => {
        if (isDenied(error) && (await answers(client, [...originals.values()], pullSpec, signal))) refused.add(Object(error));
        throw error;
      });
    return withRetries(classified, { ...retry, isTransient: isPassing, signal });
  };
  const resolve = async (pullSpec: string, signal: AbortSignal): Promise<RegistryImage> => {
    const image = originals.get(pullSpec) ?? (await resolveImage(client, parseImageReference(pullSpec), { signal, store }));
    originals.set(pullSpec, image);
    return image;
  };
  return {
    get bytesRead() {
      return content ? content.bytesBeside : client.bytesRead;
    },
    resolve: async (pullSpec, signal) => toResolved(pullSpec, await attempt(pullSpec, () => resolve(pullSpec, signal), signal)),
    readFiles: ({ pullSpec }, selection, signal) =>
      attempt(pullSpec, async () => readLayerFiles(content ?? client, await resolve(pullSpec, signal), { ...selection, signal }), signal),
  };
}

/** True when the registry of a pull spec answers for another image: then it lacks this one. */
async function answers(client: RegistryClient, known: readonly RegistryImage[], pullSpec: string, signal: AbortSignal): Promise<boolean> {
  const { host } = parseImageReference(pullSpec);
  const other = known.find(({ reference }) => reference.host === host && formatImageReference(reference) !== pullSpec);
  if (!other) return false;
  return client.headManifest(other.reference, { signal }).then(
    (digest) => digest !== undefined,
    () => false,
  );
}

function toResolved(pullSpec: string, image: RegistryImage): ResolvedImage {
  return {
    pullSpec,
    digest: image.digest,
    referenceDigest: image.top.digest,
    layers: image.layers.map(({ digest, size }) => ({ digest, size })),
    labels: image.config.config?.Labels ?? {},
  };
}
