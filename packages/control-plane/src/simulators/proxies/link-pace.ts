import { setTimeout as delay } from 'node:timers/promises';

/** Bytes that a paced link passes at a time: what stands in buffers behind it at a cut is about this much per connection. */
export const LINK_SLICE = 16 * 1024;
const CATCH_UP_MS = 20;

/** The pace of a link, shared by all that passes it. */
export class LinkPace {
  #freeAt = 0;

  /** Resolves when the link has room for so many bytes. Late timers are caught up by a slice or two, which is no burst. */
  async pass(bytes: number, bytesPerSecond: number): Promise<void> {
    const now = performance.now();
    const at = Math.max(this.#freeAt, now - CATCH_UP_MS);
    this.#freeAt = at + (bytes * 1_000) / bytesPerSecond;
    if (at - now >= 1) await delay(at - now);
  }
}
