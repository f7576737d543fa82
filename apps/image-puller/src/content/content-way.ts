import { errorMessage } from '@flotilla/api';
import { isTransient } from '@flotilla/registry';
import { CorruptBlobError } from '../errors.ts';
import type { LinkCap } from '../link-cap.ts';
import type { ContentOptions, ContentStore } from './content-store.ts';
import { type FillDeps, fillImage } from './image-content.ts';
import { nextWay } from './next-way.ts';
import type { ExpectedBlob } from './writer.ts';

/** Dependencies of the way by the content store. */
interface ContentWayOptions extends ContentOptions {
  readonly content: ContentStore;
  readonly cap: LinkCap;
  readonly snapshotter: FillDeps['snapshotter'];
}

/** Fetches the blobs of images before the runtime pulls them, and leaves to the runtime what it cannot fetch. */
export class ContentWay {
  readonly #options: ContentWayOptions;
  /** Failures in a row by pull spec, and blobs with wrong bytes; those arrive too, so they count for the whole run. */
  readonly #failures = new Map<string, number>();
  readonly #corrupt = new Map<string, number>();
  /** Failures after which the next try is the runtime's, by pull spec: the registry asked for the wait until then. */
  readonly #left = new Map<string, unknown>();

  constructor(options: ContentWayOptions) {
    this.#options = options;
  }

  /**
   * Puts the blobs of an image into the store.
   * @returns the failure after which the runtime has to fetch them; undefined when they are there
   * @throws a failure that may pass, or NoSpaceError
   */
  async fill(pullSpec: string, layers: readonly ExpectedBlob[]): Promise<{ readonly failure: unknown } | undefined> {
    const { content, logger, signal, cap, sharing } = this.#options;
    if (this.#left.has(pullSpec)) {
      const failure = this.#left.get(pullSpec);
      this.#left.delete(pullSpec);
      return { failure };
    }
    try {
      await fillImage(this.#options, pullSpec, () => this.#failures.delete(pullSpec));
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const counts = error instanceof CorruptBlobError ? this.#corrupt : this.#failures;
      const failures = (counts.get(pullSpec) ?? 0) + 1;
      counts.set(pullSpec, failures);
      const isCapped = cap.bytesPerSecond !== undefined;
      const way = nextWay(error, { failures, isCapped, isShared: sharing !== undefined });
      if (way === 'runtime after a wait') this.#left.set(pullSpec, error);
      else if (way !== 'runtime') throw error;
      logger.warn({ image: pullSpec, failures, isCapped, err: errorMessage(error) }, 'Leaving the blobs of an image to the runtime');
      if (way === 'runtime after a wait') throw error;
      // The bytes before a broken link are right, and a registry may refuse to go on from others.
      if (!isTransient(error)) await content.drop(layers);
      return { failure: error };
    }
  }
}
