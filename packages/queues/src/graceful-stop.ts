import { FlotillaError } from '@flotilla/api';
import type { JobConsumer } from './job-store.ts';

/** How long running work may go on after close, in milliseconds. */
const GRACE_MS = 5_000;
/** What an aborted run may take to end. */
const LAST_WORDS_MS = 500;

/** The end of whatever consumes jobs: no new ones, a grace for running ones, then their signal aborts. */
export class GracefulStop {
  readonly #abort = new AbortController();
  readonly #graceMs: number;
  #closing: Promise<void> | undefined;

  constructor(graceMs = GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Aborts when the grace is over, with code `FLOTILLA_STEP_ABORTED`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** True from the first call of `close` on. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** Closes the consumers, then the rest. Further calls wait for the first. */
  close(consumers: readonly JobConsumer[], rest: () => Promise<void>): Promise<void> {
    this.#closing ??= this.#close(consumers, rest);
    return this.#closing;
  }

  async #close(consumers: readonly JobConsumer[], rest: () => Promise<void>): Promise<void> {
    const reason = new FlotillaError('FLOTILLA_STEP_ABORTED', 'the process that ran the step is stopping');
    const timer = setTimeout(() => this.#abort.abort(reason), this.#graceMs);
    try {
      await Promise.all(consumers.map((consumer) => consumer.close(this.#graceMs + LAST_WORDS_MS)));
      await rest();
    } finally {
      clearTimeout(timer);
    }
  }
}
