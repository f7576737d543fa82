import { mapConcurrently, Semaphore } from '@flotilla/pace';
import type { RegistryClient } from './client.ts';
import { abortedError, RegistryError, RegistryErrorCode } from './errors.ts';
import { formatImageReference, type ImageReference } from './image-reference.ts';
import type { OciLayout } from './layout.ts';
import type { Descriptor, Platform } from './manifest.ts';
import { type ResolvedImage, resolveImage } from './resolve.ts';

/** Progress of a download. Bytes are compressed, and each blob counts once. */
export interface DownloadProgress {
  imagesDone: number;
  imagesTotal: number;
  /** Bytes on disk, with those from earlier runs. */
  bytesDone: number;
  /** Grows until every manifest is read. */
  bytesTotal: number;
}

/** Outcome for one image. */
interface DownloadResult {
  reference: ImageReference;
  status: 'present' | 'downloaded' | 'failed';
  /** Digest of the platform's manifest, once known. */
  digest?: string;
  /** Reason of the failure. */
  error?: RegistryError;
}

/** Dependencies and options of `downloadImages`. */
interface DownloadOptions {
  client: RegistryClient;
  layout: OciLayout;
  images: readonly ImageReference[];
  /** Images at once; default 4. */
  parallelImages?: number;
  /** Blobs at once, over all images; default 4. */
  parallelBlobs?: number;
  /** Default: linux on this processor. */
  platform?: Platform;
  signal?: AbortSignal;
  /** Receives every chunk's progress: throttle it yourself. */
  onProgress?: (progress: DownloadProgress) => void;
}

/**
 * Downloads images into the layout: manifests first, which gives an early total, then blobs, image by image in a sliding window. Existing content is
 * skipped, and a failed image does not stop the others. Never throws for a registry's failure: each image has its result, in the given order.
 */
export async function downloadImages(options: DownloadOptions): Promise<DownloadResult[]> {
  const { client, layout, images, platform, signal, parallelImages = 4, parallelBlobs = 4 } = options;
  const tally = new Tally(images.length, options.onProgress);
  const blobs = new Semaphore(parallelBlobs);
  const resolved = await mapConcurrently(images, parallelImages, (reference) =>
    outcome(reference, async () => {
      if (signal?.aborted) throw abortedError(signal);
      const image = await resolveImage(client, reference, { platform, signal, store: layout });
      await Promise.all(image.layers.map((layer) => tally.expect(layer, layout)));
      return image;
    }),
  );
  return mapConcurrently(resolved, parallelImages, async (entry) => {
    if (!('value' in entry)) return entry.failed;
    const image = entry.value;
    const fetched = await outcome(image.reference, () => fetchLayers(image, { client, layout, blobs, tally, signal }));
    if (!('value' in fetched)) return { ...fetched.failed, digest: image.digest };
    tally.imageDone();
    return { reference: image.reference, digest: image.digest, status: fetched.value };
  });
}

interface FetchContext {
  client: RegistryClient;
  layout: OciLayout;
  blobs: Semaphore;
  tally: Tally;
  signal?: AbortSignal;
}

async function fetchLayers(
  image: ResolvedImage,
  { client, layout, blobs, tally, signal }: FetchContext,
): Promise<'present' | 'downloaded'> {
  const name = formatImageReference(image.reference);
  // A failing layer fails its image, but only after the other layers have stopped: nothing runs on unattended.
  const stop = new AbortController();
  const both = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const outcomes = await Promise.allSettled(
    image.layers.map((layer) =>
      blobs.run(async () => {
        try {
          return await layout.fetchBlob(client, image.reference, layer, {
            signal: both,
            onBytes: (onDisk) => tally.setLevel(layer, onDisk),
          });
        } catch (error) {
          stop.abort(error);
          throw error;
        }
      }),
    ),
  );
  const failures = outcomes.filter((o) => o.status === 'rejected').map((o): unknown => o.reason);
  if (failures.length > 0) throw stop.signal.aborted && !signal?.aborted ? stop.signal.reason : failures[0];
  const known = await layout.findImage(name);
  await layout.addImage(image.top, name);
  const isNew = known?.digest !== image.top.digest || outcomes.some((o) => o.status === 'fulfilled' && o.value === 'fetched');
  return isNew ? 'downloaded' : 'present';
}

type Outcome<T> = { value: T } | { failed: DownloadResult };

async function outcome<T>(reference: ImageReference, work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (cause) {
    const error =
      cause instanceof RegistryError
        ? cause
        : new RegistryError(RegistryErrorCode.storeFailed, `storing ${formatImageReference(reference)} failed`, { cause });
    return { failed: { reference, status: 'failed', error } };
  }
}

/** Counts each blob once, even when images share it. */
class Tally {
  readonly #blobs = new Map<string, number>();
  readonly #progress: DownloadProgress;
  readonly #report: ((progress: DownloadProgress) => void) | undefined;

  constructor(imagesTotal: number, report: ((progress: DownloadProgress) => void) | undefined) {
    this.#progress = { imagesDone: 0, imagesTotal, bytesDone: 0, bytesTotal: 0 };
    this.#report = report;
  }

  async expect({ digest, size }: Descriptor, layout: OciLayout): Promise<void> {
    if (this.#blobs.has(digest)) return;
    this.#blobs.set(digest, 0);
    this.#progress.bytesTotal += size;
    if (await layout.has(digest)) this.setLevel({ digest }, size);
    else this.#publish();
  }

  setLevel({ digest }: { digest: string }, onDisk: number): void {
    const delta = onDisk - (this.#blobs.get(digest) ?? 0);
    if (delta === 0) return;
    this.#blobs.set(digest, onDisk);
    this.#progress.bytesDone += delta;
    this.#publish();
  }

  imageDone(): void {
    this.#progress.imagesDone += 1;
    this.#publish();
  }

  #publish(): void {
    this.#report?.({ ...this.#progress });
  }
}
