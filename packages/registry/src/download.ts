import { Semaphore } from '@flotilla/pace';
import type { RegistryClient } from './client.ts';
import { abortedError, RegistryError, RegistryErrorCode } from './errors.ts';
import { formatImageReference, type ImageReference } from './image-reference.ts';
import type { OciLayout } from './layout.ts';
import type { Platform } from './platform.ts';
import { resolveImage } from './resolve.ts';

interface DownloadOptions {
  client: RegistryClient;
  layout: OciLayout;
  /** Blobs at once; default 4. */
  parallelBlobs?: number;
  /** Default: linux on this processor. */
  platform?: Platform;
  signal?: AbortSignal;
}

/**
 * Downloads an image into the layout and names it there. Existing content is skipped, so an interrupted download continues.
 * @throws RegistryError of the client, or `FLOTILLA_REGISTRY_STORE_FAILED` when the disk refuses
 */
export async function downloadImage(reference: ImageReference, options: DownloadOptions): Promise<'present' | 'downloaded'> {
  const { client, layout, platform, signal } = options;
  const name = formatImageReference(reference);
  try {
    if (signal?.aborted) throw abortedError(signal);
    const { top, layers } = await resolveImage(client, reference, { platform, signal, store: layout });
    // A failing layer fails its image, but only after the other layers have stopped: nothing runs on unattended.
    const stop = new AbortController();
    const both = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const blobs = new Semaphore(options.parallelBlobs ?? 4);
    const outcomes = await Promise.allSettled(
      layers.map((layer) =>
        blobs.run(() =>
          layout.fetchBlob(client, reference, layer, { signal: both }).catch((error: unknown) => {
            stop.abort(error);
            throw error;
          }),
        ),
      ),
    );
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure) throw stop.signal.aborted && !signal?.aborted ? stop.signal.reason : failure.reason;
    const known = await layout.findImage(name);
    await layout.addImage(top, name);
    const isNew = known?.digest !== top.digest || outcomes.some((one) => one.status === 'fulfilled' && one.value === 'fetched');
    return isNew ? 'downloaded' : 'present';
  } catch (cause) {
    if (cause instanceof RegistryError) throw cause;
    throw new RegistryError(RegistryErrorCode.storeFailed, `storing ${name} failed`, { cause });
  }
}
