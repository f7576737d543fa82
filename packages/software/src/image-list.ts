import { mapConcurrently } from '@flotilla/pace';
import { parseImageReference } from '@flotilla/registry';
import { compileExcludePatterns, type ExcludePatterns } from '@flotilla/release';
import type { ImageSource, Layer, ResolvedImage } from './image-source.ts';
import { listOperatorHeads } from './operator-images.ts';
import type { PullSpec } from './pull-spec.ts';
import { listReleaseImages } from './release-images.ts';

/** A wanted image, with every pull spec that names it. */
export interface WantedImage {
  readonly digest: string;
  /** Pods name images by these; a store knows an image only under the names of its pulls. */
  readonly pullSpecs: readonly PullName[];
  /** Empty for an image that the store has to find. */
  readonly layers: readonly Layer[];
  /** Error of our own search, when the store has to find the image. */
  readonly handedOver?: unknown;
}

/** A pull spec and its digest. */
export interface PullName {
  readonly pullSpec: string;
  readonly referenceDigest: string;
}

/** A pull spec that the registry does not resolve. */
interface UnresolvedImage {
  readonly pullSpec: string;
  readonly error: unknown;
}

/** Images to pull, in the order of the spec: release, components, indexes, operators, additional images. */
export interface ImageList {
  readonly images: readonly WantedImage[];
  /** Unresolved images do not stop the others. */
  readonly unresolved: readonly UnresolvedImage[];
}

const PARALLEL_RESOLVES = 8;

/**
 * Builds the list from the registry: release image and components, index images, related images of the wanted channels' heads, additional images.
 * Exclude patterns apply to components and related images.
 * @throws the error of reading the release image, an index or a pattern; a component that cannot be resolved is in `unresolved`
 */
export async function buildImageList(spec: PullSpec, source: ImageSource, signal: AbortSignal): Promise<ImageList> {
  const patterns = compileExcludePatterns(spec.excludePatterns);
  const pullSpecs = [
    ...(spec.platformImage ? [spec.platformImage, ...(await releaseSpecs(spec.platformImage, source, patterns, signal))] : []),
    ...spec.operatorIndexes,
    ...(await operatorSpecs(spec, source, patterns, signal)),
    ...spec.additionalImages,
  ];
  return resolveAll([...new Set(pullSpecs)], source, signal);
}

async function releaseSpecs(image: string, source: ImageSource, patterns: ExcludePatterns, signal: AbortSignal): Promise<string[]> {
  const components = await listReleaseImages(source, image, signal);
  return components.filter((component) => !patterns.excludes(component)).map(({ pullSpec }) => pullSpec);
}

async function operatorSpecs(spec: PullSpec, source: ImageSource, patterns: ExcludePatterns, signal: AbortSignal): Promise<string[]> {
  if (spec.operatorIndexes.length === 0) return [];
  const heads = await listOperatorHeads(source, { indexes: spec.operatorIndexes, packages: spec.packages }, signal);
  return heads.flatMap(({ images }) => images.filter((image) => !patterns.excludes(image)).map(({ pullSpec }) => pullSpec));
}

async function resolveAll(pullSpecs: readonly string[], source: ImageSource, signal: AbortSignal): Promise<ImageList> {
  const resolved: (ResolvedImage | undefined)[] = [];
  const unresolved: UnresolvedImage[] = [];
  const resolve = async ([i, pullSpec]: readonly [number, string]): Promise<void> => {
    try {
      resolved[i] = await source.resolve(pullSpec, signal);
    } catch (error) {
      signal.throwIfAborted();
      unresolved.push({ pullSpec, error });
    }
  };
  await mapConcurrently(pullSpecs.entries(), PARALLEL_RESOLVES, resolve, { stopAtFailure: true });
  return { images: byDigest(resolved.filter((image) => image !== undefined)), unresolved };
}

/** Moves unresolved images with a digest to the list, for a store that finds images itself. */
export function handOver({ images, unresolved }: ImageList): ImageList {
  const handed = new Map<string, WantedImage & { readonly pullSpecs: PullName[] }>();
  const rest: UnresolvedImage[] = [];
  for (const { pullSpec, error } of unresolved) {
    const { digest } = parseDigest(pullSpec);
    if (digest === undefined) rest.push({ pullSpec, error });
    else {
      const known = handed.get(digest) ?? { digest, pullSpecs: [], layers: [], handedOver: error };
      known.pullSpecs.push({ pullSpec, referenceDigest: digest });
      handed.set(digest, known);
    }
  }
  return { images: [...images, ...handed.values()], unresolved: rest };
}

/** Reads the digest of a pull spec; undefined without a digest or for a malformed text. */
function parseDigest(pullSpec: string): { digest?: string | undefined } {
  try {
    return parseImageReference(pullSpec);
  } catch {
    // no runtime pulls a malformed reference
    return {};
  }
}

function byDigest(resolved: readonly ResolvedImage[]): WantedImage[] {
  const images = new Map<string, { digest: string; pullSpecs: PullName[]; layers: readonly Layer[] }>();
  for (const { digest, pullSpec, referenceDigest, layers } of resolved) {
    const known = images.get(digest);
    if (known) known.pullSpecs.push({ pullSpec, referenceDigest });
    else images.set(digest, { digest, pullSpecs: [{ pullSpec, referenceDigest }], layers });
  }
  return [...images.values()];
}
