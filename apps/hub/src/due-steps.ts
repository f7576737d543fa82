/** What is wanted and not seen to be so is asked for, and again while that lasts; what stays so is carried out here. */

import type { Clock } from '@flotilla/runtime';
import { keyId, type StepKey } from './step-key.ts';
import type { StepQueue } from './step-queue.ts';

/** What asks for due steps, and carries out those that are late. */
export interface DueStepsDeps {
  readonly queue: Pick<StepQueue, 'enqueue' | 'holds'>;
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
  /** Compares again what is wanted of a key with what is seen, and says by `due` or `settle` what came of it. */
  readonly look: (key: StepKey) => void;
  /** Carries out here what is late. */
  readonly step: (key: StepKey) => Promise<unknown>;
  /** Told how that went; undefined when it did what there was to do. */
  readonly onLate: (key: StepKey, error: unknown) => void;
  /** Milliseconds after which what is still due is asked for again, or late; default 15 000. */
  readonly watchdogMs?: number | undefined;
}

/** What is due, and why it is looked at. */
export interface Due {
  readonly priority: number;
  /** What a step is asked for, as far as it differs from another one of the key. */
  readonly what: string;
  /** Something happened there: asked for even if it was a moment ago; default true. */
  readonly happened?: boolean;
  /** Not before, milliseconds since the epoch. */
  readonly at?: number | undefined;
}

interface Entry {
  readonly key: StepKey;
  what: string;
  /** When it was asked for last, milliseconds since the epoch. */
  askedAt: number;
  /** How often in a row. */
  times: number;
  /** Since when it is due without a break, milliseconds since the epoch; begins anew with each try of what is late. */
  dueSince: number | undefined;
  watchdog: Disposable | undefined;
}

const WATCHDOG_MS = 15_000;
/** So often the same is asked for within the time of the watchdog. An approval takes four steps. */
const MOST_AT_ONCE = 12;
/** Late steps that are carried out here at the same time: it is found out why they are late, the work itself is the queue's. */
const LATE_PARALLEL = 4;

/** The steps of one kind of work that are due, in process memory: whoever owns the truth says them again after a restart. */
export class DueSteps {
  readonly #deps: DueStepsDeps;
  readonly #watchdogMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #looks = new Map<string, { readonly at: number; readonly timer: Disposable }>();
  readonly #waiting = new Map<string, StepKey>();
  readonly #running = new Set<string>();
  #stopped = false;

  constructor(deps: DueStepsDeps) {
    this.#deps = deps;
    this.#watchdogMs = deps.watchdogMs ?? WATCHDOG_MS;
  }

  /**
   * The key has something left to do. It is asked for at once when something happened there or something else is wanted, else when the last
   * time is long ago. Somebody who undoes each time what we do is followed a few times, then at the pace of the watchdog.
   */
  due(key: StepKey, { what, happened = true, priority, at }: Due): void {
    if (this.#stopped) return;
    const now = this.#deps.clock.now();
    const id = keyId(key);
    const entry = this.#entries.get(id) ?? { key, what: '', askedAt: Number.NaN, times: 0, dueSince: undefined, watchdog: undefined };
    this.#entries.set(id, entry);
    const isPlanned = at !== undefined && at > now;
    const isHeld = this.#deps.queue.holds(id);
    if (!isPlanned) entry.dueSince ??= now;
    if (this.#shouldAsk(entry, { what, happened, isHeld, now })) this.#deps.queue.enqueue(id, { priority, at });
    // What waits for its turn, or for its time, is not late.
    if (!isPlanned && !isHeld && isOver(entry.dueSince ?? now, this.#watchdogMs, now)) {
      entry.dueSince = now;
      this.#carryOut(id, key);
    }
    entry.watchdog ??= this.#watch(id, entry, isPlanned ? at - now : 0);
  }

  /** Nothing is left to do for the key. */
  settle(key: StepKey): void {
    const id = keyId(key);
    this.#waiting.delete(id);
    const entry = this.#entries.get(id);
    if (entry) entry.dueSince = undefined;
  }

  /** Looks at the key then, even if nothing happens; the earliest of several times counts. @param at milliseconds since the epoch */
  lookAt(key: StepKey, at: number | undefined): void {
    const id = keyId(key);
    const planned = this.#looks.get(id);
    if (this.#stopped || at === undefined || at === Number.POSITIVE_INFINITY || (planned && planned.at <= at)) return;
    planned?.timer[Symbol.dispose]();
    const look = () => {
      this.#looks.delete(id);
      this.#deps.look(key);
    };
    const timer = this.#deps.clock.setTimer(Math.max(at - this.#deps.clock.now(), 0), look);
    this.#looks.set(id, { at, timer });
  }

  /** Forgets a key. */
  forget(key: StepKey): void {
    const id = keyId(key);
    this.#waiting.delete(id);
    this.#entries.get(id)?.watchdog?.[Symbol.dispose]();
    this.#entries.delete(id);
    this.#looks.get(id)?.timer[Symbol.dispose]();
    this.#looks.delete(id);
  }

  /** Forgets everything, and takes nothing more. */
  stop(): void {
    this.#stopped = true;
    for (const { key } of [...this.#entries.values()]) this.forget(key);
    for (const { timer } of this.#looks.values()) timer[Symbol.dispose]();
    this.#looks.clear();
  }

  #shouldAsk(entry: Entry, { what, happened, isHeld, now }: Pick<Due, 'what' | 'happened'> & { isHeld: boolean; now: number }): boolean {
    if (entry.what !== what || isOver(entry.askedAt, this.#watchdogMs, now)) {
      Object.assign(entry, { what, askedAt: now, times: 1 });
      return true;
    }
    if (!happened) return false;
    // Asking is free while the queue has it.
    if (isHeld) return true;
    if (entry.times >= MOST_AT_ONCE) return false;
    Object.assign(entry, { askedAt: now, times: entry.times + 1 });
    return true;
  }

  /** Looks again while what was asked for is not so; what is, is forgotten by then. Measured as a span: no clock that steps back delays it. */
  #watch(id: string, entry: Entry, delayMs: number): Disposable {
    return this.#deps.clock.setTimer(delayMs + this.#watchdogMs, () => {
      entry.watchdog = undefined;
      const isDue = entry.dueSince !== undefined;
      if (!isDue) this.#entries.delete(id);
      if (isDue || delayMs > 0) this.#deps.look(entry.key);
    });
  }

  #carryOut(id: string, key: StepKey): void {
    if (!this.#running.has(id)) this.#waiting.set(id, key);
    this.#next();
  }

  #next(): void {
    for (const [id, key] of this.#waiting) {
      if (this.#running.size >= LATE_PARALLEL) return;
      this.#waiting.delete(id);
      this.#running.add(id);
      void this.#run(id, key);
    }
  }

  async #run(id: string, key: StepKey): Promise<void> {
    try {
      await this.#deps.step(key);
      this.#deps.onLate(key, undefined);
    } catch (error) {
      this.#deps.onLate(key, error);
    } finally {
      this.#running.delete(id);
      this.#next();
    }
  }
}

/** A time that is yet to come was noted before the clock stepped back: nothing waits for as long as it stepped. */
const isOver = (since: number, ms: number, now: number): boolean => !(since <= now) || now - since >= ms;
