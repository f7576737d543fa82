import { type AnswerStream, ApiError, type Call, type Exchange, RuntimeErrorCode } from '@flotilla/runtime';
import type { SimulatedProcess } from './process.ts';

/** Fate of one call. */
export interface Fate {
  /** Milliseconds until it arrives at the server, and until the answer is back. */
  readonly thereMs: number;
  readonly backMs: number;
  /**
   * `lost`: it never arrives; `unanswered`: it takes effect and no answer comes; `refused`: the server is not ready; `throttled`: the server
   * has too much to do; `cut`: the connection breaks after it took effect; `twice`: a proxy sends it again.
   */
  readonly mishap?: 'lost' | 'unanswered' | 'refused' | 'throttled' | 'cut' | 'twice';
}

/** State of the ways between processes and servers. */
export interface Weather {
  fateOf(process: SimulatedProcess, call: Call): Fate;
  /** Milliseconds that an event of a watch is on its way; undefined: it never arrives, because the watch has broken. */
  lagOf(process: SimulatedProcess, path: string): number | undefined;
}

const TIMEOUT_MS = 30_000;

/** Carries the calls of one process to a server in memory, through the weather. */
export class SimulatedExchange implements Exchange {
  readonly #inner: Exchange;
  readonly #process: SimulatedProcess;
  readonly #weather: Weather;

  constructor(inner: Exchange, process: SimulatedProcess, weather: Weather) {
    this.#inner = inner;
    this.#process = process;
    this.#weather = weather;
  }

  send(call: Call): Promise<string> {
    return this.#carried(call, () => this.#inner.send(call));
  }

  open(call: Call): Promise<AnswerStream> {
    return this.#carried(call, async () => this.#delayed(await this.#inner.open(call), call.path));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #carried<T>(call: Call, arrive: () => Promise<T>): Promise<T> {
    call.signal?.throwIfAborted();
    const answer = this.#played(call, arrive);
    const { signal } = call;
    if (!signal) return answer;
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([answer, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', abort);
      answer.catch(() => undefined);
    }
  }

  async #played<T>(call: Call, arrive: () => Promise<T>): Promise<T> {
    const { thereMs, backMs, mishap } = this.#weather.fateOf(this.#process, call);
    const { timeoutMs = TIMEOUT_MS } = call;
    if (mishap === 'lost' || thereMs + backMs > timeoutMs)
      return this.#timedOut(call, thereMs > timeoutMs || mishap === 'lost' ? undefined : arrive, thereMs);
    await this.#process.after(thereMs);
    if (mishap === 'refused')
      throw failure(call, RuntimeErrorCode.unavailable, 503, 'the server is currently unable to handle the request');
    if (mishap === 'throttled') throw failure(call, RuntimeErrorCode.throttled, 429, 'the server has received too many requests');
    if (mishap === 'unanswered') return this.#timedOut(call, arrive, 0);
    if (mishap === 'twice') await arrive().catch(() => undefined);
    const outcome = await arrive().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await this.#process.after(backMs);
    if (mishap === 'cut') throw failure(call, RuntimeErrorCode.unreachable, 0, 'other side closed');
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  async #timedOut<T>(call: Call, arrive: (() => Promise<T>) | undefined, thereMs: number): Promise<never> {
    const { timeoutMs = TIMEOUT_MS } = call;
    if (arrive) {
      await this.#process.after(thereMs);
      await arrive().catch(() => undefined);
    }
    await this.#process.after(timeoutMs - (arrive ? thereMs : 0));
    throw failure(call, RuntimeErrorCode.timeout, 0, `no answer within ${timeoutMs} ms`);
  }

  /** Lines arrive one after the other, and nothing after one that was lost. */
  #delayed(stream: AnswerStream, path: string): AnswerStream {
    const process = this.#process;
    const weather = this.#weather;
    return {
      destroy: () => stream.destroy(),
      on: (event, listener) => stream.on(event, listener),
      async *[Symbol.asyncIterator]() {
        for await (const line of stream) {
          const lagMs = weather.lagOf(process, path);
          if (lagMs === undefined) return stream.destroy();
          await process.after(lagMs);
          yield line;
        }
      },
    };
  }
}

const failure = (call: Call, code: string, status: number, serverMessage: string): ApiError =>
  new ApiError(code, `${call.method} ${call.path.split('?', 1)[0]}`, { status, reason: '', serverMessage });
