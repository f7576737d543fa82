/** Enqueues the steps that the leader plans, and applies late ones in this process. */
import { type Clock, type Logger, type Metrics, type Reconciler, startReconciler } from '@flotilla/runtime';
import { keyId, parseStepKey, type StepKey } from './step-key.ts';
import { STEP_TIMEOUT_MS, type StepHandler, type StepQueue } from './step-queue.ts';

/** Dependencies of `StepRequests`. */
interface StepRequestsDeps {
  /** Name in logs and metrics. */
  readonly name: string;
  readonly queue: StepQueue;
  /** Applies a step in this process, which makes its error known. */
  readonly apply: StepHandler;
  /** Receives the outcome of that; an undefined error means success. */
  readonly onApplied: (key: StepKey, error: unknown) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly signal: AbortSignal;
  /** Milliseconds after which a step with writes is late and enqueued again; default 15 000. */
  readonly watchdogMs?: number | undefined;
}

/** Step with missing writes. */
export interface StepRequest {
  readonly priority: number;
  /** Description of the writes; another description enqueues the key at once. */
  readonly plan: string;
  /** Earliest time of the step, milliseconds since the epoch. */
  readonly at?: number | undefined;
}

interface Entry {
  readonly id: string;
  plan: string;
  /** Time of the last enqueue, milliseconds since the epoch. */
  enqueuedAt: number;
  /** Enqueues in a row. */
  times: number;
  /** Requested and not done since. */
  isOpen: boolean;
  /** Start of the unbroken time with missing writes, milliseconds since the epoch. Each late application restarts it. */
  since: number | undefined;
}

const WATCHDOG_MS = 15_000;
/** Bound of enqueues of one plan within a watchdog's time: somebody may undo each write for ever. */
const MOST_IN_A_ROW = 12;
/** Late steps at a time: they only find the error, and the queue does the work. */
const LATE_PARALLEL = 4;

/** Requested steps of one kind of work, in memory: the leader requests them again after a restart. */
export class StepRequests {
  readonly #deps: StepRequestsDeps;
  readonly #watchdogMs: number;
  /** Entries by uid of the upgrade, then by cluster. */
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
      // `onApplied` has received the error, and the next plan decides about another try.
      onTrouble: async (text) => this.#late.forget(text),
      clock,
      logger,
      ...(metrics && { metrics }),
      signal,
    });
  }

  /** Resolves after the signal aborts and the last late step ends. */
  get stopped(): Promise<void> {
    return this.#late.stopped;
  }

  /** Returns an upgrade's clusters with an open step. */
  open(upgrade: string): string[] {
    return [...(this.#entries.get(upgrade) ?? [])].filter(([, { isOpen }]) => isOpen).map(([cluster]) => cluster);
  }

  /**
   * Enqueues a key whose plan has writes: at once for a new plan, else only when the last enqueue is long ago.
   * @returns milliseconds until the next plan of the key
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
    // A key in the queue, or one before its time, is not late.
    if (!isScheduled && !isHeld && this.#isOver(entry.since, now)) {
      entry.since = now;
      this.#late.enqueue(id);
    }
    return this.#watchdogMs + (isScheduled ? at - now : 0);
  }

  /** Records that the key has no writes left. */
  done(key: StepKey): void {
    const entry = this.#entryOf(key);
    if (entry) Object.assign(entry, { since: undefined, isOpen: false });
  }

  /**
   * Forgets steps of an upgrade.
   * @param cluster default: all of them
   */
  forget(upgrade: string, cluster?: string): void {
    const entries = this.#entries.get(upgrade);
    if (cluster === undefined) this.#entries.delete(upgrade);
    for (const name of cluster === undefined ? (entries?.keys() ?? []) : [cluster]) {
      const entry = entries?.get(name);
      if (!entry) continue;
      entries?.delete(name);
      this.#late.forget(entry.id);
      this.#deps.queue.forget(entry.id);
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
    // Somebody undid a step that was done since.
    if (entry.isOpen || entry.times >= MOST_IN_A_ROW) return false;
    Object.assign(entry, { enqueuedAt: now, times: entry.times + 1 });
    return true;
  }

  /** A time in the future predates a step back of the clock, so it counts as over. */
  #isOver(since: number | undefined, now: number): boolean {
    return since === undefined || !(since <= now) || now - since >= this.#watchdogMs;
  }

  async #applyLate(id: string, signal: AbortSignal): Promise<undefined> {
    const key = parseStepKey(id);
    // The step was done or forgotten while it waited.
    if (!key || this.#entryOf(key)?.since === undefined) return;
    try {
      await this.#deps.apply(key, signal);
      this.#deps.onApplied(key, undefined);
    } catch (error) {
      if (!this.#deps.signal.aborted) this.#deps.onApplied(key, error);
    }
  }
}
