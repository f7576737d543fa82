/** Steps that the leader plans and anybody may take: it enqueues each, and applies here what nobody has done in time. */
import { type Clock, type Logger, type Metrics, type Reconciler, startReconciler } from '@flotilla/runtime';
import { keyId, parseStepKey, type StepKey } from './step-key.ts';
import type { StepQueue } from './step-queue.ts';

/** What requesting steps needs. */
interface StepRequestsDeps {
  /** In logs and metrics. */
  readonly name: string;
  readonly queue: StepQueue;
  /** Applies a step in this process. */
  readonly apply: (key: StepKey) => Promise<unknown>;
  /** How that went; no error when it did what there was to do. */
  readonly onApplied: (key: StepKey, error: unknown) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly signal: AbortSignal;
  /** Milliseconds after which what is still planned is enqueued again, or late; default 15 000. */
  readonly watchdogMs?: number | undefined;
}

/** A step that has something to write. */
export interface StepRequest {
  readonly priority: number;
  /** Tells one plan of the key from another. */
  readonly plan: string;
  /** Not before, milliseconds since the epoch. */
  readonly at?: number | undefined;
}

interface Entry {
  plan: string;
  /** When it was enqueued last, milliseconds since the epoch. */
  enqueuedAt: number;
  /** How often in a row. */
  times: number;
  /** Not done since it was requested. */
  isOpen: boolean;
  /** Since when the key has had something to write without a break, milliseconds since the epoch; anew with each late application. */
  since: number | undefined;
}

const WATCHDOG_MS = 15_000;
/** So often a plan is enqueued within the time of the watchdog: somebody who undoes each write is not followed for ever. */
const MOST_IN_A_ROW = 12;
/** Late steps applied at the same time: this finds out why they are late, the work itself is the queue's. */
const LATE_PARALLEL = 4;

/** What was requested of one kind of work, in memory: whoever plans requests it again after a restart. */
export class StepRequests {
  readonly #deps: StepRequestsDeps;
  readonly #watchdogMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #late: Reconciler;

  constructor(deps: StepRequestsDeps) {
    this.#deps = deps;
    const { name, clock, logger, metrics, signal, watchdogMs = WATCHDOG_MS } = deps;
    this.#watchdogMs = watchdogMs;
    this.#late = startReconciler({
      name: `${name}-late-steps`,
      concurrency: LATE_PARALLEL,
      reconcile: (text) => this.#applyLate(text),
      // What went wrong was reported, and the plan decides whether it is tried again.
      onTrouble: async (text) => this.#late.forget(text),
      clock,
      logger,
      ...(metrics && { metrics }),
      signal,
    });
  }

  /**
   * The key's plan has writes. It is enqueued at once when it was not before, else when the last time is long ago.
   * @returns milliseconds until the key is to be planned again
   */
  request(key: StepKey, { plan, priority, at }: StepRequest): number {
    const now = this.#deps.clock.now();
    const id = keyId(key);
    const entry = this.#entries.get(id) ?? { plan: '', enqueuedAt: Number.NaN, times: 0, isOpen: false, since: undefined };
    this.#entries.set(id, entry);
    const isScheduled = at !== undefined && at > now;
    const isHeld = this.#deps.queue.holds(id);
    if (!isScheduled) entry.since ??= now;
    if (this.#isDue(entry, plan, now)) this.#deps.queue.enqueue(id, { priority, ...(at !== undefined && { at }) });
    entry.isOpen = true;
    // What waits for its turn, or for its time, is not late.
    if (!isScheduled && !isHeld && this.#isOver(entry.since, now)) {
      entry.since = now;
      this.#late.enqueue(id);
    }
    return this.#watchdogMs + (isScheduled ? at - now : 0);
  }

  /** Nothing is left to write for the key. */
  done(key: StepKey): void {
    const entry = this.#entries.get(keyId(key));
    if (entry) Object.assign(entry, { since: undefined, isOpen: false });
  }

  forget(key: StepKey): void {
    const id = keyId(key);
    this.#entries.delete(id);
    this.#late.forget(id);
    this.#deps.queue.forget(id);
  }

  #isDue(entry: Entry, plan: string, now: number): boolean {
    if (entry.plan !== plan || this.#isOver(entry.enqueuedAt, now)) {
      Object.assign(entry, { plan, enqueuedAt: now, times: 1 });
      return true;
    }
    // One that was done since is undone by somebody.
    if (entry.isOpen || entry.times >= MOST_IN_A_ROW) return false;
    Object.assign(entry, { enqueuedAt: now, times: entry.times + 1 });
    return true;
  }

  /** A time that is yet to come was noted before the clock stepped back: nothing waits for as long as it stepped. */
  #isOver(since: number | undefined, now: number): boolean {
    return since === undefined || !(since <= now) || now - since >= this.#watchdogMs;
  }

  async #applyLate(id: string): Promise<undefined> {
    const key = parseStepKey(id);
    // Done, or forgotten, while it waited for its turn.
    if (!key || this.#entries.get(id)?.since === undefined) return;
    try {
      await this.#deps.apply(key);
      this.#deps.onApplied(key, undefined);
    } catch (error) {
      this.#deps.onApplied(key, error);
    }
  }
}
