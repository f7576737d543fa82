/** The images that a spec comes to: looked up at their registries, with what is kept of earlier plans, and told of in sentences. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type LayerList, type PrecachingSpec, precacheSpecData } from '@flotilla/api/ran';
import { bytes } from '@flotilla/api/units';
import { systemClock } from '@flotilla/pace';
import { DocumentCache, FileCache, RegistryError, withoutImage } from '@flotilla/registry';
import {
  buildImageList,
  type CatalogueImage,
  createRegistrySource,
  type ImageList,
  type ImageSource,
  parsePullSpec,
  toLayerList,
  type WantedImage,
} from '@flotilla/software';
import { nextStep } from '../complain.ts';
import { readCacheFolder } from '../config.ts';
import { openRegistry } from '../registry/open.ts';

/** Time-out for looking up all images of a spec, in milliseconds. */
const LOOK_UP_WITHIN_MS = 4 * 60_000;

/** Images of a spec on one architecture. */
export interface ListedImages {
  readonly architecture: string;
  readonly images: readonly WantedImage[];
  readonly list: LayerList;
  readonly bytes: number;
  /** All images that could not be read. */
  readonly unresolved: ImageList['unresolved'];
  /** Images of catalogues that are left out, because no pod can pull them. */
  readonly skipped: readonly CatalogueImage[];
  /** Components and related images that exclude patterns leave out where they leave none; else 0. */
  readonly allExcluded: number;
  readonly spaceRequiredGiB: number | undefined;
  /** Names that are no digests: another image may be behind them tomorrow. */
  readonly tags: readonly string[];
}

/** Looks up what specs come to. */
export interface ImageLookup extends AsyncDisposable {
  lookUp(spec: PrecachingSpec, architecture: string): Promise<ListedImages>;
}

/** Opens the registry, and what is kept of it from earlier plans: documents and files by digest, compared with it when they are read. */
export async function openImageLookup(options: Parameters<typeof openRegistry>[0]): Promise<ImageLookup> {
  const stack = new AsyncDisposableStack();
  const client = stack.use(await openRegistry(options));
  const folder = readCacheFolder();
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  const documents = stack.use(new DocumentCache({ folder: join(folder, 'documents') }));
  const files = new FileCache({ folder: join(folder, 'references'), keep: 16, maxBytes: 64 * 1024 * 1024 });
  const catalogues = new FileCache({ folder: join(folder, 'catalogues'), keep: 4, maxFileBytes: 256 * 1024 * 1024 });
  const patience = { refusedTries: 1, retryForMs: 20_000, clock: systemClock, random: Math.random };
  const lookUp = async (spec: PrecachingSpec, architecture: string): Promise<ListedImages> => {
    const source = createRegistrySource(client, patience, { documents, platform: { os: 'linux', architecture } });
    const pullSpec = parsePullSpec(precacheSpecData(spec));
    const found = await buildImageList(pullSpec, withKeptFiles(source, { files, catalogues }), AbortSignal.timeout(LOOK_UP_WITHIN_MS));
    const list = toLayerList(found.images);
    return {
      architecture,
      images: found.images,
      list,
      bytes: list.layers.reduce((sum, { size }) => sum + size, 0),
      unresolved: found.unresolved,
      skipped: found.skipped,
      allExcluded: found.allExcluded,
      spaceRequiredGiB: pullSpec.spaceRequiredGiB,
      tags: found.images.flatMap(({ pullSpecs }) => pullSpecs.map((name) => name.pullSpec)).filter((name) => !name.includes('@')),
    };
  };
  return { lookUp, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Files of an image never change, so they are read once: a release's references, a catalogue's parts. */
function withKeptFiles(
  source: ImageSource,
  { files, catalogues }: { readonly files: FileCache; readonly catalogues: FileCache },
): ImageSource {
  return {
    get bytesRead() {
      return source.bytesRead;
    },
    resolve: (pullSpec, signal) => source.resolve(pullSpec, signal),
    async readFiles(image, selection, signal) {
      const cache = selection.paths ? files : catalogues;
      const kept = await cache.read(image.digest);
      if (kept) return kept;
      const read = await source.readFiles(image, selection, signal);
      const buffers = new Map([...read].map(([path, bytes]) => [path, Buffer.from(bytes)]));
      // A disk that refuses costs the next plan a read.
      await cache.write(image.digest, buffers).catch(() => undefined);
      return read;
    },
  };
}

/** An image that could not be read, and why, without the name that a registry's sentences begin with: it may be another spelling. */
export function unreadImage({ pullSpec: image, error }: ImageList['unresolved'][number]): { image: string; why: string } {
  const why = nextStep(error);
  return { image, why: error instanceof RegistryError ? withoutImage(why, error) : why };
}

/** The sentence on images that could not be read; undefined where all could. */
export function unreadSentence({ images, unresolved }: Pick<ListedImages, 'images' | 'unresolved'>): string | undefined {
  const [first] = unresolved.slice(0, 1).map(unreadImage);
  return first && `${unresolved.length} of ${images.length + unresolved.length} images could not be read: ${first.image}: ${first.why}`;
}

/** The sentence on the images of a further architecture, which has no table of its own. */
export const contentSentence = (listed: Pick<ListedImages, 'images' | 'unresolved' | 'list' | 'bytes'>): string =>
  unreadSentence(listed) ?? `they are ${listed.images.length} images, ${listed.list.layers.length} layers, ${bytes(listed.bytes)}`;

/** The sentence on images that are left out; undefined without any. */
export function skippedSentence({ skipped }: Pick<ListedImages, 'skipped'>): string | undefined {
  const [first] = skipped;
  if (!first) return undefined;
  const { pullSpec, package: owner, channel, bundle, pattern } = first;
  const which = `${JSON.stringify(pullSpec.slice(0, 120))} of bundle ${bundle} (${owner}:${channel})`;
  const others = skipped.length > 1 ? ` and ${skipped.length - 1} more` : '';
  return `left out, because no pod can pull such names: ${which}${others}; ${JSON.stringify(pattern)} in excludePrecachePatterns leaves it out without this note`;
}
