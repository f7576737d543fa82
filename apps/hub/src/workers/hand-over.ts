/** Hands steps of spokes over to workers by a shared queue. */
import { WaitingError } from '@flotilla/api';
import { type Clock, logOnly, type Reconciler, type ReconcilerOptions, startReconciler } from '@flotilla/runtime';
import { keyText, parseSpokeKey, type SpokeKey, type SpokePart, type SpokeStep } from '../spokes/part.ts';

/** Options of the queue in any process. */
type QueueOptions = Pick<ReconcilerOptions, 'queue' | 'concurrency' | 'signal' | 'logger' | 'metrics' | 'clock'>;

/** Milliseconds until each next try after one without writes. */
const PAUSES_MS = [150, 500, 1500];
/** Bound of remembered keys: a key that another process does next time is never removed otherwise. */
const MAX_KEYS = 10_000;
/** Milliseconds after which a step fails. */
const STEP_TIMEOUT_MS = 60_000;
/** Milliseconds after which a step that was handed over is late: the leader takes it, and sees its error. */
const LATE_MS = 15_000;

/**
 * Takes the steps of keys from the queue, until the signal aborts.
 * @param isRemote the keys come from another process's watches, so this process's may lag behind
 */
export function startWorker(steps: readonly SpokeStep[], options: QueueOptions & { readonly isRemote: boolean }): Reconciler {
  const runAll: SpokeStep = async (key, signal) => {
    let wrote = false;
    for (const step of steps) wrote = (await step(key, signal)) || wrote;
    return wrote;
  };
  const { isRemote, ...shared } = options;
  const run = isRemote ? retryWhileBehind(runAll) : runAll;
  return startReconciler({
    ...shared,
    name: 'spoke-steps',
    accepts: (text) => parseSpokeKey(text) !== undefined,
    backOff: { baseMs: 500, maxMs: 60_000 },
    runTimeoutMs: STEP_TIMEOUT_MS,
    graceMs: 5_000,
    waitLevel: 'debug',
    reconcile: async (text, { signal }) => {
      const key = parseSpokeKey(text);
      if (key) await run(key, signal);
      return undefined;
    },
    // The leader takes a step that stays undone, and tells its error.
    onTrouble: logOnly,
  });
}

/**
 * Retries a step without writes a few times, because keys may arrive before the watch events of this process. Throws WaitingError for each retry;
 * afterwards the step counts as done by another process.
 */
export function retryWhileBehind(step: SpokeStep): SpokeStep {
  /** Consecutive runs without writes, by key. */
  const counts = new Map<string, number>();
  return async (key, signal) => {
    const text = keyText(key);
    const count = counts.get(text) ?? 0;
    const wrote = await step(key, signal);
    const pauseMs = PAUSES_MS[count];
    if (wrote || pauseMs === undefined) {
      counts.delete(text);
      return wrote;
    }
    if (counts.size >= MAX_KEYS) counts.clear();
    counts.set(text, count + 1);
    throw new WaitingError('FLOTILLA_CACHE_BEHIND', 'nothing to do by the watches of this process, which may be behind', pauseMs);
  };
}

/** Steps that the leader has handed over. It lives in memory: a restarted leader hands them over again. */
export class HandOver {
  readonly #queue: Pick<Reconciler, 'enqueue' | 'holds'>;
  readonly #clock: Pick<Clock, 'now'>;
  /** Plans and the times of their hand-over, milliseconds since the epoch, by part and key. */
  readonly #handed = new Map<string, { readonly plan: string; readonly at: number }>();

  constructor(queue: Pick<Reconciler, 'enqueue' | 'holds'>, clock: Pick<Clock, 'now'>) {
    this.#queue = queue;
    this.#clock = clock;
  }

  /** Milliseconds until a step with this plan is late; undefined when it is, or was not handed over. */
  lateInMs(part: SpokePart['name'], key: SpokeKey, plan: string): number | undefined {
    const before = this.#handed.get(idOf(part, key));
    const leftMs = (before?.at ?? 0) + LATE_MS - this.#clock.now();
    // A time further away predates a step back of the clock.
    return before?.plan === plan && leftMs > 0 && leftMs <= LATE_MS ? leftMs : undefined;
  }

  /**
   * Hands a step over, unless the same has been handed over before and the queue has lost it: then the caller takes it.
   * @returns milliseconds until it is late; undefined: the caller takes it
   */
  give(part: SpokePart['name'], key: SpokeKey, plan: string): number | undefined {
    const isLate = this.#handed.get(idOf(part, key))?.plan === plan;
    this.#handed.set(idOf(part, key), { plan, at: this.#clock.now() });
    if (isLate && !this.#queue.holds(keyText(key))) return undefined;
    if (!isLate) this.#queue.enqueue(keyText(key));
    return LATE_MS;
  }

  /** Nothing is left to do of a step. */
  done(part: SpokePart['name'], key: SpokeKey): void {
    this.#handed.delete(idOf(part, key));
  }

  /** The upgrade is gone: its keys need not come again. */
  forget(upgradeUid: string): void {
    for (const id of this.#handed.keys()) if (id.includes(` ${upgradeUid}/`)) this.#handed.delete(id);
  }
}

const idOf = (part: SpokePart['name'], key: SpokeKey): string => `${part} ${keyText(key)}`;
