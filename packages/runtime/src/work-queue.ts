import { type BackOff, backOffMs, type Clock, systemClock } from '@flotilla/pace';
import type { Metrics } from './metrics.ts';

/** How keys are worked off. */
export interface WorkQueueOptions {
  /** Label of its metrics. */
  readonly name: string;
  /** Keys in flight at once. Default 1. */
  readonly concurrency?: number;
  /** Delays of `retry`. Default 200 ms to 60 s. */
  readonly backOff?: BackOff;
  readonly clock?: Clock;
  /** In [0, 1). Default Math.random. */
  readonly random?: () => number;
  readonly metrics?: Metrics;
}

/** Runs one key. What it throws is its own business; the queue swallows it, so catch it before. */
export type KeyHandler = (key: string) => Promise<void>;

/**
 * Keys waiting for work: each at most once, each in flight at most once. A key added while it runs runs again afterwards.
 * `process` names the handler; nothing runs before.
 */
export class WorkQueue {
  readonly name: string;
  readonly #concurrency: number;
  readonly #backOff: BackOff;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #metrics: Metrics | undefined;
  readonly #ready = new Set<string>();
  readonly #running = new Set<string>();
  readonly #again = new Set<string>();
  readonly #timers = new Map<string, { readonly at: number; readonly timer: Disposable }>();
  readonly #failures = new Map<string, number>();
  #idle: PromiseWithResolvers<void> | undefined;
  #handler: KeyHandler | undefined;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.name = options.name;
    this.#concurrency = Math.max(1, options.concurrency ?? 1);
    this.#backOff = options.backOff ?? { baseMs: 200, maxMs: 60_000 };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#metrics = options.metrics;
  }

  /** Keys that are ready or running; timers do not count. */
  get size(): number {
    return this.#ready.size + this.#running.size + this.#again.size;
  }

  /** Keys that wait for a timer. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Begins to run keys, oldest first. */
  process(handler: KeyHandler): void {
    this.#handler = handler;
    this.#pump();
  }

  /** Has the key run as soon as there is room; nothing when it is ready already or the queue is stopped. */
  add(key: string): void {
    if (this.#stopped) return;
    if (this.#running.has(key)) this.#again.add(key);
    else this.#ready.add(key);
    this.#pump();
  }

  /** Adds the key in `ms`. The earliest of several wins; the timer is exact and never early. */
  addAfter(key: string, ms: number): void {
    if (this.#stopped) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const at = this.#clock.now() + ms;
    const earlier = this.#timers.get(key);
    if (earlier && earlier.at <= at) return;
    earlier?.timer[Symbol.dispose]();
    const timer = this.#clock.setTimer(ms, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, { at, timer });
  }

  /** Adds the key after a delay that doubles with each call; returns the delay in milliseconds. `forget` resets it. */
  retry(key: string): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const delay = backOffMs(this.#backOff, failures, this.#random);
    this.addAfter(key, delay);
    return delay;
  }

  /** The key did well: its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Resolves when nothing is ready or running. Timers are not waited for. */
  drain(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** Drops what is ready or timed and takes nothing more; resolves when what runs has ended, or when `signal` aborts. */
  async stop(signal?: AbortSignal): Promise<void> {
    this.#stopped = true;
    this.#ready.clear();
    this.#again.clear();
    for (const { timer } of this.#timers.values()) timer[Symbol.dispose]();
    this.#timers.clear();
    this.#settle();
    if (signal?.aborted) return;
    const gaveUp = Promise.withResolvers<void>();
    signal?.addEventListener('abort', () => gaveUp.resolve(), { once: true });
    await Promise.race([this.drain(), gaveUp.promise]);
  }

  #pump(): void {
    const handler = this.#handler;
    if (handler) {
      for (const key of this.#ready) {
        if (this.#running.size >= this.#concurrency) break;
        this.#ready.delete(key);
        this.#running.add(key);
        void this.#run(handler, key);
      }
    }
    this.#metrics?.queueDepth.set({ queue: this.name }, this.size);
  }

  async #run(handler: KeyHandler, key: string): Promise<void> {
    try {
      await handler(key);
    } catch {
      // Said in KeyHandler: not ours.
    } finally {
      this.#running.delete(key);
      if (this.#again.delete(key)) this.#ready.add(key);
      this.#pump();
      this.#settle();
    }
  }

  #settle(): void {
    if (this.size > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}
