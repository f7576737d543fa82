import { ApiError, type Client } from '@flotilla/runtime';

/** A hub that leads renews its Lease sooner, so that nothing is asked while it is seen. */
const SILENT_MS = 15_000;
/** Between two looks at the clock. */
const LOOK_MS = 2_000;
/** A server that takes longer counts as one that does not answer. */
const ANSWER_MS = 4_000;
/** An answer that everybody may have, and that costs the server nothing. */
const ASKED = '/version';

/** Knows when the API server was heard last: a connection may die without a word, and watches on it would be blind for minutes. */
export class Pulse {
  readonly #client: Client;
  #heardAt = Date.now();
  #isSilent = false;
  #isAsking = false;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Something came from the server. */
  readonly hear = (): void => {
    this.#heardAt = Date.now();
    this.#isSilent = false;
  };

  /** Asks a server that is silent, until the signal aborts. A call without an answer ends all watches, so that they are opened anew. */
  start(signal: AbortSignal): void {
    this.hear();
    const looking = setInterval(() => void this.#look(signal), LOOK_MS);
    signal.addEventListener('abort', () => clearInterval(looking));
  }

  /** Since when a server that does not answer is not heard. */
  get silentSince(): string | undefined {
    return this.#isSilent ? new Date(this.#heardAt).toISOString() : undefined;
  }

  async #look(signal: AbortSignal): Promise<void> {
    if (this.#isAsking || Date.now() - this.#heardAt < SILENT_MS) return;
    this.#isAsking = true;
    try {
      await this.#client.request('GET', ASKED, { timeoutMs: ANSWER_MS, signal });
      this.hear();
    } catch (error) {
      // A refusal is an answer too.
      if (error instanceof ApiError && error.status > 0) this.hear();
      else this.#isSilent = true;
    } finally {
      this.#isAsking = false;
    }
  }
}
