import { errorMessage } from '@flotilla/api';
import { mapConcurrently, Semaphore } from '@flotilla/pace';
import { asksToWait, isTransient as isTransientRegistryError, RegistryError, type RetryOptions, withRetries } from '@flotilla/registry';
import type { Clock, Logger } from '@flotilla/runtime';
import { judgeLayers, type PullName, sumLayers, type WantedImage } from '@flotilla/software';
import { meansImage, type NeededImage } from '../content/presence.ts';
import { NoSpaceError, PullerErrorCode, StoreError } from '../errors.ts';
import type { Progress } from '../progress/progress.ts';
import type { ImageStore } from './store.ts';

/** Retries of a failing store, and their reports. */
interface StoreRetries {
  readonly retryForMs: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Options of `pullImages`. */
interface PullOptions extends StoreRetries {
  readonly store: ImageStore;
  readonly images: readonly WantedImage[];
  readonly parallel: number;
}

/** Result of `pullImages`. */
interface PullOutcome {
  readonly pulled: number;
  readonly failures: readonly unknown[];
  /** Those of the failures that are tags which mean another image by now than when they were listed. */
  readonly moved: readonly MovedTagError[];
}

/** The runtime has pulled another image than was listed: it asks the registry for a tag by itself. */
class MovedTagError extends StoreError {
  readonly pullSpec: string;

  constructor({ pullSpec, referenceDigest }: PullName, found: readonly string[]) {
    const both = `the runtime pulled ${found[0] ?? 'nothing'}, listed was ${referenceDigest}`;
    super(PullerErrorCode.storeRefused, `${both}: the tag has moved; name the image by its digest`, { transient: false });
    this.pullSpec = pullSpec;
  }
}

const POLL_MS = 1_000;
/** Tries of a refused image. */
const REFUSED_TRIES = 3;

/** Images to pull, and the compressed bytes of their layers that are stored and still to be unpacked. */
interface Missing {
  readonly images: readonly WantedImage[];
  readonly packedBytes: number;
}

/** Finds the images that the store lacks under some name, and counts the others, and stored layers, as done. */
export async function findMissing(store: ImageStore, images: readonly WantedImage[], retries: StoreRetries): Promise<Missing> {
  const { progress, signal } = retries;
  const missing: WantedImage[] = [];
  const present: WantedImage[] = [];
  const check = async (image: WantedImage): Promise<void> => {
    const losses = await Promise.all(image.pullSpecs.map((name) => askStore(() => store.findLoss(needed(image, name), signal), retries)));
    (losses.every((loss) => loss === undefined) ? present : missing).push(image);
  };
  await mapConcurrently(images, 8, check, { stopAtFailure: true });
  for (const image of present) progress.imageDone(image);
  if (missing.length > 0) await askStore(async () => store.dropCut?.(signal), retries);
  const content = await askStore(() => store.stored(missing, signal), retries);
  const states = judgeLayers(missing, content, present);
  const layers = missing.flatMap((image) => image.layers);
  progress.sawLayers(content.partial);
  progress.sawLayers(new Map(layers.flatMap(({ digest, size }) => (states.get(digest) === 'missing' ? [] : [[digest, size] as const]))));
  return { images: missing, packedBytes: sumLayers(layers, states, content.partial).packed };
}

const needed = ({ digest, layers }: WantedImage, name: PullName): NeededImage => ({
  digest,
  name,
  layers: layers.map((layer) => layer.digest),
});

/** Asks the store, and again while its runtime does not answer. */
export async function askStore<T>(ask: () => Promise<T>, retries: StoreRetries): Promise<T> {
  const onRetry = (error: unknown, waitMs: number): void => {
    retries.progress.triesAgain(error);
    retries.logger.warn({ waitMs, err: errorMessage(error) }, 'Asking the store again');
  };
  return withRetries(ask, { ...retries, isTransient, refusedTries: 1, onRetry });
}

/**
 * Pulls images in a sliding window, the largest first so that none is left over at the end. All nodes of a spoke keep this order, so each copies an
 * image's blobs while others fetch the next. A failed image does not stop the others; a full disk stops everything.
 * @throws NoSpaceError, or the signal's reason
 */
export async function pullImages(options: PullOptions): Promise<PullOutcome> {
  const active = new Set<WantedImage>();
  const failures: unknown[] = [];
  const moved: MovedTagError[] = [];
  let pulled = 0;
  const window = new PullWindow(options.parallel);
  const full = new AbortController();
  const ended = AbortSignal.any([options.signal, full.signal]);
  using _poll = pollLayers(options, active);
  await mapConcurrently(
    options.images.toSorted((a, b) => size(b) - size(a)),
    window.most,
    async (image) => {
      try {
        await window.run(async () => {
          ended.throwIfAborted();
          active.add(image);
          await pullImage(image, { ...options, window, ended }).catch((failure: unknown) => {
            // Before its place goes to the next one.
            if (failure instanceof NoSpaceError) full.abort(failure);
            throw failure;
          });
        });
        pulled++;
        options.progress.imageDone(image);
      } catch (failure) {
        options.signal.throwIfAborted();
        if (failure instanceof NoSpaceError) throw failure;
        const error = withReason(failure, image);
        failures.push(error);
        if (failure instanceof MovedTagError) moved.push(failure);
        const pullSpec = failure instanceof MovedTagError ? failure.pullSpec : image.pullSpecs[0]?.pullSpec;
        options.progress.imageFailed(pullSpec ?? image.digest, error);
        options.logger.error({ image: pullSpec, err: errorMessage(error) }, 'Pulling failed');
      } finally {
        active.delete(image);
      }
    },
    { stopAtFailure: true },
  );
  return { pulled, failures, moved };
}

/** Adds the error of our own search to the store's. */
const withReason = (failure: unknown, { handedOver }: WantedImage): unknown =>
  handedOver === undefined
    ? failure
    : new StoreError(PullerErrorCode.storeRefused, `${errorMessage(failure)}; not found here either: ${errorMessage(handedOver)}`, {
        transient: false,
        cause: failure,
      });

const size = ({ layers }: WantedImage): number => layers.reduce((sum, layer) => sum + layer.size, 0);

/** Options of one pull in the window; `ended` ends its waits. */
interface WindowedOptions extends PullOptions {
  readonly window: PullWindow;
  readonly ended: AbortSignal;
}

async function pullImage(image: WantedImage, { store, logger, progress, window, ended, ...options }: WindowedOptions): Promise<void> {
  const { signal } = options;
  let loan: Disposable | undefined;
  // The runtime may ask the same registry as the search that failed.
  let owed = asksToWait(image.handedOver) ? image.handedOver : undefined;
  for (const name of image.pullSpecs) {
    const retries: RetryOptions = {
      ...options,
      signal: ended,
      isTransient,
      refusedTries: REFUSED_TRIES,
      progressedAt: () => progress.lastGrowth(image.layers),
      onRetry: (error, waitMs) => {
        progress.triesAgain(error, { pullSpec: name.pullSpec, layers: image.layers });
        logger.warn({ image: name.pullSpec, waitMs, err: errorMessage(error) }, 'Retrying a pull');
        if (error instanceof RegistryError && error.retryAfterMs !== undefined) loan = window.lend();
      },
    };
    // checked before each try: a runtime may have finished a pull after the connection broke
    const isPulled = await withRetries(async () => {
      loan?.[Symbol.dispose]();
      loan = undefined;
      if (owed !== undefined) {
        const failure = owed;
        owed = undefined;
        throw failure;
      }
      if ((await store.findLoss(needed(image, name), signal)) === undefined) return false;
      progress.imageFetched(await store.pull(name, image.layers, signal));
      return true;
    }, retries);
    if (!isPulled) continue;
    logger.info({ image: name.pullSpec, digest: image.digest }, 'Pulled');
    await requireListed(image, name, { ...options, store, logger, progress });
  }
}

/** @throws MovedTagError when the store has another image under a tag than the list */
async function requireListed({ digest }: WantedImage, name: PullName, options: Omit<PullOptions, 'images' | 'parallel'>): Promise<void> {
  const { store, signal } = options;
  if (name.pullSpec.includes('@')) return;
  const found = await askStore(() => store.digestsOf(name.pullSpec, signal), options);
  if (!meansImage(found, { digest, referenceDigest: name.referenceDigest })) throw new MovedTagError(name, found);
}

function isTransient(error: unknown): boolean {
  return error instanceof StoreError ? error.transient : isTransientRegistryError(error);
}

/** Polls the stored bytes of the active images once a second, only for display. */
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

/** Images that are pulled at once. One that a registry has wait lends its place, so that others go on; as many wait at most as are pulled. */
class PullWindow {
  readonly #width: number;
  readonly #places: Semaphore;
  #waiting = 0;

  constructor(width: number) {
    this.#width = Math.max(1, width);
    this.#places = new Semaphore(this.#width);
  }

  /** Images that may be under way, with those that wait. */
  get most(): number {
    return 2 * this.#width;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    return this.#places.run(task);
  }

  /** Lends the place of a running task until the loan is disposed. */
  lend(): Disposable {
    this.#changeBy(1);
    return { [Symbol.dispose]: () => this.#changeBy(-1) };
  }

  #changeBy(change: number): void {
    this.#waiting += change;
    this.#places.width = Math.min(this.most, this.#width + this.#waiting);
  }
}
