import { errorMessage, FlotillaError } from '@flotilla/api';
import { type BackOff, backOffMs, type Clock } from '@flotilla/pace';
import { LateLane, type Reserve } from './late-lane.ts';
import type { Line, Log, QueueStore } from './line.ts';
import { type Outcome, runOnce, type StepHandler } from './run-once.ts';
import { keyId, StepKey, type StepKind } from './step-key.ts';
import { WakeTimers } from './wake-timers.ts';

/** How steps are dispatched. */
export interface DispatcherOptions {
  readonly store: QueueStore;
  /** Name of the line in the store; processes with the same one share its work. */
  readonly name: string;
  /** Kinds of steps that `handle` knows; others are dropped. */
  readonly kinds: readonly StepKind[];
  /** Runs at the same time in this process, each for a key of its own. */
  readonly concurrency: number;
  readonly handle: StepHandler;
  /** A key's runs in this process have failed `LASTING_TRIES` times in a row or more, or can never succeed. Must not throw. */
  readonly onFailing?: (key: StepKey, error: unknown) => void;
  /** A share of the runs for keys that more urgent ones keep overtaking; default none. */
  readonly reserve?: Reserve;
  /** Closes the dispatcher. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Default: 500 ms to a minute. */
  readonly backOff?: BackOff;
  /** Default 60 000. */
  readonly runTimeoutMs?: number;
  /** A process that dies keeps its runs this long, twice at most; default 15 000 ms. */
  readonly lockMs?: number;
  /** Milliseconds between looks whether the store lost anything; default 2 000. */
  readonly watchdogMs?: number;
  /** How long runs may go on after close; default 5 000 ms. */
  readonly graceMs?: number;
  readonly clock: Clock;
}

/** When and how urgently a step is wanted. */
export interface WantOptions {
  /** Lower goes first; default 100. While a key waits the best one asked for counts. */
  readonly priority?: number;
  /** Milliseconds since the epoch; default now. A key keeps its earliest time. */
  readonly at?: number | undefined;
}

/** From this process's memory (no round trip). */
export interface DispatcherSize {
  /** Asked for here, and not begun as far as is known. */
  readonly waiting: number;
  readonly running: number;
  readonly timers: number;
}

/** Runs wanted keys, here or in a process with the same line, never two of a key beside each other while nobody dies. */
export interface Dispatcher {
  /** Asks for a run: free while one waits, one more while it runs. A run sees whatever was written before it was wanted. */
  want(key: StepKey, options?: WantOptions): void;
  /** Forgets a key's timers and failures; a run that waits finds nothing to do. */
  forget(key: StepKey): void;
  /** A run of the key waits or is under way here. One that will follow a failure does not count: why it fails, others may find out sooner. */
  holds(key: StepKey): boolean;
  size(): DispatcherSize;
  /** Stops taking work, waits for running work (at most the grace), closes. Idempotent. */
  close(): Promise<void>;
}

const DEFAULT_PRIORITY = 100;
/** An error that so many tries in a row end with, over some 5 s, lasts: others pass before anybody reads of them. */
const LASTING_TRIES = 5;
const BACK_OFF: BackOff = { baseMs: 500, maxMs: 60_000 };
const [RUN_TIMEOUT_MS, LOCK_MS, WATCHDOG_MS, GRACE_MS, LAST_WORDS_MS] = [60_000, 15_000, 2_000, 5_000, 500];

/** Opens a line, and runs what waits in it. */
export const startDispatcher = (options: DispatcherOptions): Dispatcher => new StepDispatcher(options);

interface Waiting {
  readonly key: StepKey;
  priority: number;
  /** Has the highest priority, whatever it was wanted with. */
  promoted: boolean;
}

class StepDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #clock: Clock;
  readonly #line: Line;
  readonly #timers: WakeTimers;
  readonly #late: LateLane;
  readonly #waiting = new Map<string, Waiting>();
  /** With the priority of the run that has to follow, if any. */
  readonly #running = new Map<string, { again?: number }>();
  /** Priorities of timers. */
  readonly #planned = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #abort = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { store, name, concurrency, reserve, signal, log, clock } = options;
    const { lockMs = LOCK_MS, watchdogMs = WATCHDOG_MS } = options;
    this.#clock = clock;
    this.#timers = new WakeTimers(clock);
    this.#late = new LateLane(reserve);
    const takenElsewhere = (key: StepKey) => this.#leave(keyId(key));
    this.#line = store.line({ name, concurrency, take: (data) => this.#take(data), takenElsewhere, lockMs, watchdogMs, log });
    if (signal.aborted) void this.close();
    else signal.addEventListener('abort', () => void this.close(), { once: true });
  }

  want(key: StepKey, { priority = DEFAULT_PRIORITY, at }: WantOptions = {}): void {
    if (this.#closing) return;
    const id = keyId(key);
    if (at !== undefined && at > this.#clock.now()) return this.#plan(key, at, priority);
    const running = this.#running.get(id);
    if (running) {
      running.again = Math.min(running.again ?? priority, priority);
      return;
    }
    const waiting = this.#waiting.get(id);
    if (!waiting) {
      this.#waiting.set(id, { key, priority, promoted: false });
      this.#late.waits(id, priority);
      return this.#line.put(key, priority);
    }
    if (priority < waiting.priority) this.#hurry(id, waiting, priority);
    // Another process may have begun by now, and not have seen what this is about.
    if (this.#line.isShared) this.#line.put(key, waiting.promoted ? 0 : waiting.priority);
  }

  forget(key: StepKey): void {
    const id = keyId(key);
    this.#failures.delete(id);
    this.#planned.delete(id);
    this.#timers.clear(id);
    this.#timers.clear(retrySlot(id));
  }

  holds(key: StepKey): boolean {
    const id = keyId(key);
    return this.#waiting.has(id) || this.#running.has(id);
  }

  size(): DispatcherSize {
    return { waiting: this.#waiting.size, running: this.#running.size, timers: this.#timers.size };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { graceMs = GRACE_MS } = this.#options;
    this.#timers.clearAll();
    const reason = new FlotillaError('FLOTILLA_STEP_ABORTED', 'the process that ran the step is stopping');
    const timer = setTimeout(() => this.#abort.abort(reason), graceMs);
    await this.#line.close(graceMs + LAST_WORDS_MS);
    clearTimeout(timer);
    this.#waiting.clear();
  }

  #plan(key: StepKey, at: number, priority: number): void {
    const id = keyId(key);
    this.#planned.set(id, Math.min(this.#planned.get(id) ?? priority, priority));
    this.#timers.set(id, at, () => {
      const best = this.#planned.get(id) ?? priority;
      this.#planned.delete(id);
      this.want(key, { priority: best });
    });
  }

  #hurry(id: string, waiting: Waiting, priority: number): void {
    waiting.priority = priority;
    if (waiting.promoted) return;
    this.#late.waits(id, priority);
    this.#line.promote(waiting.key, priority);
  }

  async #take(data: unknown): Promise<void> {
    const key = this.#parse(data);
    if (!key) return;
    const id = keyId(key);
    const running = this.#running.get(id);
    if (running) {
      this.#options.log.warn({ queue: this.#options.name, key: id }, 'Dropping a doubled job, its key runs once more');
      running.again = Math.min(running.again ?? DEFAULT_PRIORITY, DEFAULT_PRIORITY);
      return;
    }
    const { priority = DEFAULT_PRIORITY } = this.#waiting.get(id) ?? {};
    const run: { again?: number } = {};
    this.#running.set(id, run);
    this.#line.taken(key);
    this.#leave(id);
    const { handle, runTimeoutMs = RUN_TIMEOUT_MS } = this.#options;
    const outcome = await runOnce(handle, key, { runTimeoutMs, signal: this.#abort.signal });
    this.#running.delete(id);
    // Given up: whoever has the line next runs it.
    if (this.#abort.signal.aborted) return this.#line.put(key, priority);
    this.#settle(key, priority, outcome);
    if (run.again !== undefined) this.want(key, { priority: run.again });
  }

  /** Parsed here and nowhere else. */
  #parse(data: unknown): StepKey | undefined {
    const { name, kinds, log } = this.#options;
    const parsed = StepKey.safeParse(data);
    if (parsed.success && kinds.includes(parsed.data.kind)) return parsed.data;
    const reason = parsed.success ? `steps of kind ${parsed.data.kind} are none of this queue's` : errorMessage(parsed.error);
    log.warn({ queue: name, reason: reason.slice(0, 512) }, 'Dropping a job that is no step');
    return undefined;
  }

  /** A key has left the line. */
  #leave(id: string): void {
    this.#waiting.delete(id);
    this.#late.leaves(id);
    const next = this.#late.next(this.#waiting.size);
    const late = next === undefined ? undefined : this.#waiting.get(next);
    if (!late) return;
    late.promoted = true;
    this.#line.promote(late.key, 0);
  }

  #settle(key: StepKey, priority: number, outcome: Outcome): void {
    const id = keyId(key);
    const { name, log, onFailing, backOff = BACK_OFF } = this.#options;
    this.#timers.clear(retrySlot(id));
    const retry = (ms: number) => this.#retry(key, priority, this.#clock.now() + ms);
    if (outcome.kind === 'failed') {
      const attempt = (this.#failures.get(id) ?? 0) + 1;
      this.#failures.set(id, attempt);
      log.warn({ queue: name, key: id, attempt, reason: errorMessage(outcome.error) }, 'Step failed, trying again');
      retry(backOffMs(backOff, attempt));
      if (attempt >= LASTING_TRIES) onFailing?.(key, outcome.error);
      return;
    }
    this.#failures.delete(id);
    if (outcome.kind === 'done') return;
    if (outcome.kind === 'waiting') {
      log.debug({ queue: name, key: id, reason: errorMessage(outcome.error) }, 'Step waits, looking again later');
      retry(outcome.error.retryAfterMs);
    } else {
      log.warn({ queue: name, key: id, reason: errorMessage(outcome.error) }, 'Step cannot succeed, leaving it');
      onFailing?.(key, outcome.error);
    }
  }

  /** Retries have a timer of their own, so that a time that was asked for stays exact. */
  #retry(key: StepKey, priority: number, at: number): void {
    if (!this.#closing) this.#timers.set(retrySlot(keyId(key)), at, () => this.want(key, { priority }));
  }
}

const retrySlot = (id: string): string => `retry:${id}`;
