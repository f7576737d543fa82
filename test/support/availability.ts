import { FlotillaError } from '@flotilla/api';
import type { Client } from '@flotilla/runtime';
import { readWorkloads, type WorkloadState } from './workloads.ts';

/** Milliseconds between two looks at a spoke. */
const EVERY_MS = 200;

/** One look: when it was answered (milliseconds of a monotonic clock), and what it saw. */
interface Sample {
  readonly at: number;
  readonly isAvailable: boolean;
}

/** Seconds between looks that did not see everything available; an interval counts as the look at its end. */
export const unavailableSeconds = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { at, isAvailable }, index) => {
    const before = samples[index - 1];
    return before && !isAvailable ? sum + (at - before.at) / 1000 : sum;
  }, 0);

/**
 * Looks at the Deployments of a spoke five times a second, through the spoke's own API server, until it is disposed of.
 * A look that fails counts as "not available": nobody could tell.
 */
export class AvailabilityProbe implements AsyncDisposable {
  readonly #client: Client;
  readonly #samples: Sample[] = [];
  readonly #watchers = new Set<(state: WorkloadState) => void>();
  readonly #timer: NodeJS.Timeout;
  #look: Promise<void> | undefined;

  constructor(client: Client) {
    this.#client = client;
    // One look at a time: a server that is slow is not asked more.
    this.#timer = setInterval(() => this.#next(), EVERY_MS);
    this.#next();
  }

  /** Seconds so far in which not everything was available. */
  get seconds(): number {
    return unavailableSeconds(this.#samples);
  }

  /** Resolves when everything is available and runs these images. Throws `FLOTILLA_DEMO_TIMEOUT`, or the reason of the signal. */
  async untilRunning(images: Readonly<Record<string, string>>, limits: { withinMs: number; signal: AbortSignal }): Promise<void> {
    const { withinMs, signal } = limits;
    const running = Promise.withResolvers<void>();
    const watcher = (state: WorkloadState): void => {
      const isNew = Object.entries(images).every(([app, image]) => state.images[app] === image);
      if (state.isAvailable && isNew) running.resolve();
    };
    const timeout = new FlotillaError('FLOTILLA_DEMO_TIMEOUT', `the Deployments do not run the new images within ${withinMs / 1000} s`);
    const timer = setTimeout(() => running.reject(timeout), withinMs);
    const giveUp = () => running.reject(signal.reason);
    this.#watchers.add(watcher);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      signal.throwIfAborted();
      await running.promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(watcher);
      signal.removeEventListener('abort', giveUp);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#look;
  }

  #next(): void {
    this.#look ??= this.#sample().finally(() => {
      this.#look = undefined;
    });
  }

  async #sample(): Promise<void> {
    const state = await readWorkloads(this.#client).catch(() => undefined);
    this.#samples.push({ at: performance.now(), isAvailable: state?.isAvailable ?? false });
    if (state) for (const watcher of this.#watchers) watcher(state);
  }
}
