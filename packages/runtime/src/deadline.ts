/** Why a call's signal was aborted: its own time-out, as opposed to its caller's signal. */
export const TIMED_OUT = Symbol('timed out');

/**
 * A signal that aborts after `ms` (reason `TIMED_OUT`) or with the caller's signal. Dispose it, or the caller's long-lived
 * signal keeps a listener per call (`AbortSignal.any` does exactly that).
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #end: number;
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#outer?.reason);

  constructor(ms: number, outer?: AbortSignal) {
    this.#end = performance.now() + ms;
    this.#timer = setTimeout(() => this.#controller.abort(TIMED_OUT), Math.min(ms, 2 ** 31 - 1));
    this.#outer = outer;
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get timedOut(): boolean {
    return this.signal.reason === TIMED_OUT;
  }

  /** Milliseconds left; never negative. */
  get leftMs(): number {
    return Math.max(0, this.#end - performance.now());
  }

  /** Rejects with the signal's reason when it aborts before `promise` settles. */
  async race<T>(promise: Promise<T>): Promise<T> {
    if (this.signal.aborted) {
      promise.catch(() => undefined);
      throw this.signal.reason;
    }
    let stop = (): void => {};
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(this.signal.reason);
      this.signal.addEventListener('abort', stop, { once: true });
    });
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      this.signal.removeEventListener('abort', stop);
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#onAbort);
  }
}
