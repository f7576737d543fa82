import { mapConcurrently } from '@flotilla/pace';
import { isImageName, parseImageReference, RegistryError, RegistryErrorCode } from '@flotilla/registry';
import {
  type ChannelHead,
  type ComponentImage,
  compileExcludePatterns,
  type ExcludePatterns,
  IMAGE_REFERENCES_PATH,
  imageReferencesLimits,
  parseImageReferences,
} from '@flotilla/release';
import type { ImageSource, Layer, ResolvedImage } from './image-source.ts';
import { listOperatorHeads } from './operator-images.ts';
import { type PullSpec, SoftwareErrorCode, SpecError } from './pull-spec.ts';

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

/** A related image of a catalogue. */
export interface CatalogueImage extends Omit<ChannelHead, 'images'> {
  readonly pullSpec: string;
  /** Exclude pattern that leaves it out. */
  readonly pattern: string;
}

/** Images to pull, in the order of the spec: release, components, indexes, operators, additional images. */
export interface ImageList {
  readonly images: readonly WantedImage[];
  /** Unresolved images do not stop the others. */
  readonly unresolved: readonly UnresolvedImage[];
  /**
   * Images of catalogues that no pod can pull, because their texts are no names that a runtime takes, such as `oci://…`. Nothing needs them, and
   * whoever pre-caches cannot correct a vendor's catalogue.
   */
  readonly skipped: readonly CatalogueImage[];
  /** Number of components and related images that the exclude patterns leave out where they leave none; else 0. */
  readonly allExcluded: number;
}

const PARALLEL_RESOLVES = 8;

/**
 * Builds the list from the registry: release image and components, index images, related images of the wanted channels' heads, additional images.
 * Exclude patterns apply to components and related images. A related image that no pod can pull is in `skipped`.
 * @throws the error of reading the release image, an index or a pattern; a component that cannot be resolved is in `unresolved`
 */
export async function buildImageList(spec: PullSpec, source: ImageSource, signal: AbortSignal): Promise<ImageList> {
  const patterns = compileExcludePatterns(spec.excludePatterns);
  const components = await releaseSpecs(spec.platformImage, source, patterns, signal);
  const { related, skipped, excluded } = await operatorSpecs(spec, source, patterns, signal);
  const release = spec.platformImage ? [spec.platformImage] : [];
  const pullSpecs = [...release, ...components.pullSpecs, ...spec.operatorIndexes, ...related.keys(), ...spec.additionalImages];
  const { images, unresolved } = await resolveAll([...new Set(pullSpecs)], source, signal);
  const isNothingLeft = components.pullSpecs.length + related.size === 0;
  return {
    images,
    unresolved: unresolved.map((image) => withOrigin(image, related.get(image.pullSpec))),
    skipped,
    allExcluded: isNothingLeft ? components.excluded + excluded : 0,
  };
}

/** The sentence on patterns that leave nothing; undefined where they leave something. */
export const allExcludedSentence = ({ allExcluded }: Pick<ImageList, 'allExcluded'>): string | undefined =>
  allExcluded === 0
    ? undefined
    : `excludePrecachePatterns leave out all ${allExcluded} images of the release and its operators; a pattern matches anywhere in a name`;

/** Tells what somebody can do who cannot correct the catalogue that has the name. */
function withOrigin({ pullSpec, error }: UnresolvedImage, origin: CatalogueImage | undefined): UnresolvedImage {
  if (!origin || !(error instanceof RegistryError) || error.code !== RegistryErrorCode.badReference) return { pullSpec, error };
  const { package: owner, channel, bundle, pattern } = origin;
  const advice = `it is of bundle ${bundle} (${owner}:${channel}); where no pod needs it, leave it out with ${JSON.stringify(pattern)} in excludePrecachePatterns`;
  return { pullSpec, error: new SpecError(SoftwareErrorCode.imageUnsuitable, `${error.message}; ${advice}`, { cause: error }) };
}

async function releaseSpecs(image: string | undefined, source: ImageSource, patterns: ExcludePatterns, signal: AbortSignal) {
  const components = image ? await listReleaseImages(source, image, signal) : [];
  const left = components.filter((component) => !patterns.excludes(component));
  return { pullSpecs: left.map(({ pullSpec }) => pullSpec), excluded: components.length - left.length };
}

interface OperatorSpecs {
  /** By pull spec. */
  readonly related: Map<string, CatalogueImage>;
  readonly skipped: CatalogueImage[];
  excluded: number;
}

async function operatorSpecs(spec: PullSpec, source: ImageSource, patterns: ExcludePatterns, signal: AbortSignal): Promise<OperatorSpecs> {
  const found: OperatorSpecs = { related: new Map(), skipped: [], excluded: 0 };
  if (spec.operatorIndexes.length === 0) return found;
  for (const { images, ...head } of await listOperatorHeads(source, { indexes: spec.operatorIndexes, packages: spec.packages }, signal))
    for (const image of images) {
      const { pullSpec } = image;
      if (patterns.excludes(image)) {
        found.excluded++;
        continue;
      }
      const listed = { ...head, pullSpec, pattern: patternOf(pullSpec) };
      if (isImageName(pullSpec)) found.related.set(pullSpec, listed);
      else found.skipped.push(listed);
    }
  return found;
}

/** Longest text that a pattern repeats, in characters: a pattern matches anywhere. */
const MAX_PATTERN_TEXT = 256;

/** Basic regular expression for a text; a blank would end the pattern's line. */
const patternOf = (text: string): string =>
  text
    .slice(0, MAX_PATTERN_TEXT)
    .replaceAll(/[\\.*[^$]/g, '\\$&')
    .replaceAll(/\s/g, '.');

async function resolveAll(
  pullSpecs: readonly string[],
  source: ImageSource,
  signal: AbortSignal,
): Promise<Pick<ImageList, 'images' | 'unresolved'>> {
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

/** Moves unresolved images with a digest to the list, for a store that finds images itself. What is for another platform is found, and of no use. */
export function handOver({ images, unresolved, ...others }: ImageList): ImageList {
  const handed = new Map<string, WantedImage & { readonly pullSpecs: PullName[] }>();
  const rest: UnresolvedImage[] = [];
  for (const { pullSpec, error } of unresolved) {
    const isForeign = error instanceof RegistryError && error.code === RegistryErrorCode.noPlatform;
    const digest = isForeign ? undefined : parseDigest(pullSpec).digest;
    if (digest === undefined) rest.push({ pullSpec, error });
    else {
      const known = handed.get(digest) ?? { digest, pullSpecs: [], layers: [], handedOver: error };
      known.pullSpecs.push({ pullSpec, referenceDigest: digest });
      handed.set(digest, known);
    }
  }
  return { images: [...images, ...handed.values()], unresolved: rest, ...others };
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

/**
 * Lists the components of a release image.
 * @throws SpecError when the image is no release image; ReleaseError when its references are malformed
 */
async function listReleaseImages(source: ImageSource, releaseImage: string, signal: AbortSignal): Promise<readonly ComponentImage[]> {
  const image = await source.resolve(releaseImage, signal);
  const { bytes } = imageReferencesLimits;
  const files = await source.readFiles(image, { paths: [IMAGE_REFERENCES_PATH], maxFileBytes: bytes, maxTotalBytes: bytes }, signal);
  const content = files.get(IMAGE_REFERENCES_PATH);
  if (!content)
    throw new SpecError(
      SoftwareErrorCode.imageUnsuitable,
      `platform.image ${releaseImage} has no file ${IMAGE_REFERENCES_PATH}; name a release image`,
    );
  return parseImageReferences(content, releaseImage).images;
}
