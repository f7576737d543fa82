/** Enqueues the steps that the leader plans, and applies here what no process has done in time. */
import { type Clock, type Logger, type Metrics, type Reconciler, startReconciler } from '@flotilla/runtime';
import { keyId, parseStepKey, type StepKey } from './step-key.ts';
import { STEP_TIMEOUT_MS, type StepHandler, type StepQueue } from './step-queue.ts';

/** What requesting steps needs. */
interface StepRequestsDeps {
  /** In logs and metrics. */
  readonly name: string;
  readonly queue: StepQueue;
  /** Applies a step in this process, so that its error is known. */
  readonly apply: StepHandler;
  /** Is told how that went; without an error it did what there was to do. */
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
  readonly id: string;
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

/** The requested steps of one kind of work, in memory: the leader plans, and requests, them again after a restart. */
export class StepRequests {
  readonly #deps: StepRequestsDeps;
  readonly #watchdogMs: number;
  /** By the upgrade's uid, then by cluster. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #late: Reconciler;

  constructor(deps: StepRequestsDeps) {
    this.#deps = deps;
    const { name, clock, logger, metrics, signal, watchdogMs = WATCHDOG_MS } = deps;
    this.#watchdogMs = watchdogMs;
    this.#late = startReconciler({
      name: `${name}-late-steps`,
      concurrency: LATE_PARALLEL,
      runTimeoutMs: STEP_TIMEOUT_MS,
      reconcile: (text, context) => this.#applyLate(text, context.signal),
      // What went wrong was reported, and the plan decides whether it is tried again.
      onTrouble: async (text) => this.#late.forget(text),
      clock,
      logger,
      ...(metrics && { metrics }),
      signal,
    });
  }

  /** Resolves after the abort of the signal, when no late step is under way any more. */
  get stopped(): Promise<void> {
    return this.#late.stopped;
  }

  /** Clusters of an upgrade with a step that is not done; `''` for the upgrade's own. */
  open(upgrade: string): string[] {
    return [...(this.#entries.get(upgrade) ?? [])].filter(([, { isOpen }]) => isOpen).map(([cluster]) => cluster);
  }

  /**
   * Enqueues a key whose plan has writes: at once when it was not enqueued before, else when the last time is long ago.
   * @returns milliseconds until the key is to be planned again
   */
  request(key: StepKey, { plan, priority, at }: StepRequest): number {
    const now = this.#deps.clock.now();
    const id = keyId(key);
    const entry = this.#entryOf(key) ?? this.#remember(key);
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
    const entry = this.#entryOf(key);
    if (entry) Object.assign(entry, { since: undefined, isOpen: false });
  }

  /** Forgets all steps of an upgrade. */
  forget(upgrade: string): void {
    const entries = this.#entries.get(upgrade);
    this.#entries.delete(upgrade);
    for (const { id } of entries?.values() ?? []) {
      this.#late.forget(id);
      this.#deps.queue.forget(id);
    }
  }

  #entryOf({ upgrade, cluster }: StepKey): Entry | undefined {
    return this.#entries.get(upgrade)?.get(cluster);
  }

  #remember(key: StepKey): Entry {
    const entry: Entry = { id: keyId(key), plan: '', enqueuedAt: Number.NaN, times: 0, isOpen: false, since: undefined };
    const ofUpgrade = this.#entries.get(key.upgrade) ?? new Map<string, Entry>();
    this.#entries.set(key.upgrade, ofUpgrade.set(key.cluster, entry));
    return entry;
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

  async #applyLate(id: string, signal: AbortSignal): Promise<undefined> {
    const key = parseStepKey(id);
    // Done, or forgotten, while it waited for its turn.
    if (!key || this.#entryOf(key)?.since === undefined) return;
    try {
      await this.#deps.apply(key, signal);
      this.#deps.onApplied(key, undefined);
    } catch (error) {
      if (!this.#deps.signal.aborted) this.#deps.onApplied(key, error);
    }
  }
}
