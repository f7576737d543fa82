import { createHash } from 'node:crypto';
import type { Logger } from '@flotilla/runtime';
import { PullerErrorCode, StoreError } from '../errors.ts';
import { isRefusal } from '../socket/connection.ts';
import { type Asked, blobSize, readContent } from '../socket/containerd.ts';
import { dropBlobs } from './presence.ts';

/** Time for reading one blob from the node's disk. */
const READ_MS = 10 * 60_000;

/** Finds out whether a failed pull is the fault of stored blobs. Each whole blob is read once in a run. */
export class DamageCheck {
  readonly #asked: Asked;
  readonly #logger: Logger;
  readonly #whole = new Set<string>();

  constructor(asked: Asked, logger: Logger) {
    this.#asked = asked;
    this.#logger = logger;
  }

  /**
   * Removes blobs whose bytes are not what their digest says: the runtime takes them for whole and would never fetch them again.
   * @returns the failure, or with blobs removed one after which the pull may succeed
   */
  async explain(failure: unknown, digests: Iterable<string>): Promise<unknown> {
    if (!(failure instanceof StoreError) || failure.code !== PullerErrorCode.storeRefused) return failure;
    const damaged: string[] = [];
    for (const digest of new Set(digests)) if (await this.#isDamaged(digest)) damaged.push(digest);
    if (damaged.length === 0) return failure;
    this.#logger.warn({ blobs: damaged.slice(0, 10), count: damaged.length }, 'Removing blobs that are not what their digests say');
    await dropBlobs(this.#asked, damaged);
    const blobs = damaged.length === 1 ? '1 blob was' : `${damaged.length} blobs were`;
    const message = `${blobs} damaged in the node's store, the first ${damaged[0]}, and will be fetched again: ${failure.message}`;
    return new StoreError(PullerErrorCode.storeRefused, message, { transient: true });
  }

  async #isDamaged(digest: string): Promise<boolean> {
    if (this.#whole.has(digest) || (await blobSize(this.#asked, digest)) === undefined) return false;
    const hash = createHash('sha256');
    try {
      for await (const chunk of readContent(this.#asked, { digest, deadlineMs: READ_MS })) hash.update(chunk);
    } catch (error) {
      // A file that is shorter than the store's index says ends so.
      if (isRefusal(error, 'OUT_OF_RANGE') || isRefusal(error, 'UNKNOWN')) return true;
      throw error;
    }
    const isWhole = `sha256:${hash.digest('hex')}` === digest;
    if (isWhole) this.#whole.add(digest);
    return !isWhole;
  }
}
