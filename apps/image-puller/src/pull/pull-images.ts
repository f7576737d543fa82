import { errorMessage } from '@flotilla/api';
import { isTransient as isTransientRegistryError } from '@flotilla/registry';
import type { Clock, Logger } from '@flotilla/runtime';
import { NoSpaceError, StoreError } from '../errors.ts';
import type { WantedImage } from '../list/image-list.ts';
import { forEachParallel } from '../parallel.ts';
import type { Progress } from '../progress/progress.ts';
import { withRetries } from '../retry.ts';
import type { ImageStore } from './store.ts';

export interface PullOptions {
  readonly store: ImageStore;
  readonly images: readonly WantedImage[];
  readonly parallel: number;
  readonly retryForMs: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** What became of the images. */
export interface PullOutcome {
  readonly pulled: number;
  readonly failures: readonly unknown[];
}

const POLL_MS = 1_000;
/** Tries of an image that is refused. */
const REFUSED_TRIES = 3;

/** Those of the images that the store does not have under all their names; the others are counted as done. */
export async function findMissing(
  store: ImageStore,
  images: readonly WantedImage[],
  { progress, signal }: Pick<PullOptions, 'progress' | 'signal'>,
) {
  const missing: WantedImage[] = [];
  await forEachParallel(images, 8, async (image) => {
    const there = await Promise.all(image.pullSpecs.map((name) => store.has(name, signal)));
    if (there.every(Boolean)) progress.imageDone(image);
    else missing.push(image);
  });
  const layers = new Map(missing.flatMap((image) => image.layers.map((layer) => [layer.digest, layer])));
  progress.sawLayers(await store.layerBytes([...layers.values()], signal));
  return missing;
}

/**
 * Pulls images in a sliding window, the largest first so that none is left over at the end. A failed image does not stop the
 * others; a full disk stops everything.
 * @throws NoSpaceError, or the signal's reason
 */
export async function pullImages(options: PullOptions): Promise<PullOutcome> {
  const active = new Set<WantedImage>();
  const failures: unknown[] = [];
  let pulled = 0;
  using _poll = pollLayers(options, active);
  await forEachParallel(
    options.images.toSorted((a, b) => size(b) - size(a)),
    options.parallel,
    async (image) => {
      active.add(image);
      try {
        await pullImage(image, options);
        pulled++;
        options.progress.imageDone(image);
      } catch (error) {
        options.signal.throwIfAborted();
        if (error instanceof NoSpaceError) throw error;
        failures.push(error);
        options.progress.imageFailed(image.pullSpecs[0]?.pullSpec ?? image.digest, error);
        options.logger.error({ image: image.pullSpecs[0]?.pullSpec, err: errorMessage(error) }, 'Pulling failed');
      } finally {
        active.delete(image);
      }
    },
  );
  return { pulled, failures };
}

const size = ({ layers }: WantedImage): number => layers.reduce((sum, layer) => sum + layer.size, 0);

async function pullImage(image: WantedImage, { store, signal, clock, random, retryForMs, logger }: PullOptions): Promise<void> {
  for (const name of image.pullSpecs) {
    if (await store.has(name, signal)) continue;
    const onRetry = (error: unknown, waitMs: number): void =>
      logger.warn({ image: name.pullSpec, waitMs, err: errorMessage(error) }, 'Retrying a pull');
    await withRetries(() => store.pull(name, image.layers, signal), {
      isTransient,
      refusedTries: REFUSED_TRIES,
      retryForMs,
      signal,
      clock,
      random,
      onRetry,
    });
    logger.info({ image: name.pullSpec, digest: image.digest }, 'Pulled');
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof StoreError ? error.transient : isTransientRegistryError(error);
}

/** Asks the store once a second how far the layers of the images under way are. Only the display depends on it. */
function pollLayers({ store, clock, progress, signal, logger }: PullOptions, active: ReadonlySet<WantedImage>): Disposable {
  let timer: Disposable | undefined;
  let stopped = false;
  const poll = async (): Promise<void> => {
    try {
      progress.sawLayers(
        await store.layerBytes(
          [...active].flatMap(({ layers }) => layers),
          signal,
        ),
      );
    } catch (error) {
      logger.debug({ err: errorMessage(error) }, 'No bytes in flight');
    }
    arm();
  };
  const arm = (): void => {
    if (!stopped) timer = clock.setTimer(POLL_MS, () => void poll());
  };
  arm();
  return {
    [Symbol.dispose]: () => {
      stopped = true;
      timer?.[Symbol.dispose]();
    },
  };
}
