import {
  type DocumentStore,
  formatImageReference,
  isDenied,
  isTransient,
  type Platform,
  parseImageReference,
  type RegistryClient,
  type ResolvedImage as RegistryImage,
  type RetryOptions,
  readLayerFiles,
  requirePlatform,
  resolveImage,
  withRetries,
} from '@flotilla/registry';
import type { ImageSource, ListContent, ResolvedImage } from './image-source.ts';

interface SourceOptions {
  readonly content?: ListContent | undefined;
  /** Keeps manifests and configurations; default that of the content. */
  readonly documents?: DocumentStore | undefined;
  /** Default: linux on the processor of this process. */
  readonly platform?: Platform | undefined;
}

/** Creates the source. Each pull spec is resolved once, and transient failures are retried. Content keeps what is read. */
export function createRegistrySource(
  client: RegistryClient,
  retry: Omit<RetryOptions, 'isTransient' | 'signal'>,
  { content, documents, platform }: SourceOptions = {},
): ImageSource {
  const store = documents ?? content?.documents;
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
    const image =
      originals.get(pullSpec) ??
      (await resolveImage(client, parseImageReference(pullSpec), { signal, store, ...(platform && { platform }) }));
    requirePlatform(image, platform);
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
    layers: imageLayers(image),
    labels: image.config.config?.Labels ?? {},
  };
}

const DIGEST = /^sha256:[a-f0-9]{64}$/;

/** Layers of an image, each with the digest that it unpacks to where the configuration names as many. */
export function imageLayers({ layers, config }: Pick<RegistryImage, 'layers' | 'config'>): ResolvedImage['layers'] {
  const diffIds = config.rootfs?.diff_ids.filter((diffId) => DIGEST.test(diffId)) ?? [];
  const isWhole = diffIds.length === layers.length;
  return layers.map(({ digest, size }, index) => ({ digest, size, ...(isWhole && { diffId: diffIds[index] ?? '' }) }));
}
