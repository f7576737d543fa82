import { type Clock, systemClock } from '@flotilla/pace';

interface DeadlineOptions {
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Reason of the signal after a time-out. Default: an error that names the time. */
  readonly reason?: Error;
}

/**
 * A signal that aborts after `ms` or with the caller's signal. Dispose it: otherwise the caller's long-lived signal keeps a listener per call, as
 * `AbortSignal.any` does.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #aborted = Promise.withResolvers<never>();
  readonly #timer: Disposable;
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#abort(this.#outer?.reason);
  /** True when the time ran out before the caller aborted. */
  timedOut = false;

  constructor(ms: number, outer?: AbortSignal, { clock = systemClock, reason }: DeadlineOptions = {}) {
    // Callers that never race must not cause an unhandled rejection.
    this.#aborted.promise.catch(() => undefined);
    this.#timer = clock.setTimer(ms, () => {
      this.timedOut = !this.signal.aborted;
      this.#abort(reason ?? new Error(`no answer within ${ms} ms`));
    });
    this.#outer = outer;
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Rejects with the signal's reason when it aborts before `promise` resolves or rejects. */
  race<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#aborted.promise]);
  }

  #abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.#aborted.reject(reason);
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.#outer?.removeEventListener('abort', this.#onAbort);
  }
}
