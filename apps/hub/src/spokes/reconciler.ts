import { errorMessage, WaitingError } from '@flotilla/api';
import { earliest } from '@flotilla/pace';
import {
  type Clock,
  type Logger,
  type Metrics,
  type ReconcileResult,
  type Reconciler,
  type ReconcilerOptions,
  startReconciler,
} from '@flotilla/runtime';
import { Attempts } from '../writes/attempts.ts';
import { keyText, type PartPlan, parseSpokeKey, type SpokeKey, type SpokePart, type SpokeStep } from './part.ts';
import type { Problems } from './problems.ts';

/** Hands steps over to other processes (`HandOver`). */
interface HandsOver {
  lateInMs(part: SpokePart['name'], key: SpokeKey, plan: string): number | undefined;
  give(part: SpokePart['name'], key: SpokeKey, plan: string): number | undefined;
  done(part: SpokePart['name'], key: SpokeKey): void;
  forget(upgradeUid: string): void;
}

/** Dependencies of `SpokeReconciler`. */
interface SpokeReconcilerDeps {
  readonly parts: readonly SpokePart[];
  readonly problems: Problems;
  /** True for the uid of an upgrade that is not there any more. */
  readonly isGone: (upgradeUid: string) => boolean;
  /** Told of failures besides the problems, which an upgrade that is gone or cleaned cannot tell. */
  readonly onTrouble: ReconcilerOptions['onTrouble'];
  /** Other processes that may take the steps; absent: this one takes all. */
  readonly handOver?: HandsOver | undefined;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly signal: AbortSignal;
}

/** Milliseconds after which a run fails. */
const RUN_TIMEOUT_MS = 60_000;
/** Spokes at a time with steps that nobody waits for: a whole fleet may return at once. */
const MOST_YIELDING = 4;
/** Milliseconds until a spoke is looked at again at the earliest: a time that has passed must not keep the loop busy. */
const LEAST_MS = 50;
const BACK_OFF = { baseMs: 500, maxMs: 60_000 };

/** Writes what the stored statuses of upgrades want on each spoke, or has a worker do it. Only the leader has one; it decides nothing that a status says. */
export class SpokeReconciler {
  readonly #deps: SpokeReconcilerDeps;
  /** Steps in a row by part and cluster. */
  readonly #attempts: Attempts;
  /** Runs with steps in this process, with the uid of their upgrade. */
  readonly #underWay = new Map<Promise<unknown>, string>();
  /** Keys that take a step which nobody waits for, and keys that wait for their place. */
  readonly #yielding = new Set<string>();
  readonly #putOff = new Set<string>();
  #reconciler: Reconciler | undefined;

  constructor(deps: SpokeReconcilerDeps) {
    this.#deps = deps;
    this.#attempts = new Attempts(() => deps.clock.now());
  }

  /** Starts reconciling, until the signal aborts. */
  start(): Pick<Reconciler, 'stopped'> {
    const { parts, onTrouble, concurrency, clock, logger, metrics, signal } = this.#deps;
    this.#reconciler = startReconciler({
      name: 'spokes',
      watches: parts.flatMap(({ watches }) => watches),
      concurrency,
      backOff: BACK_OFF,
      runTimeoutMs: RUN_TIMEOUT_MS,
      waitLevel: 'debug',
      reconcile: (text, context) => this.reconcile(text, context.signal),
      onTrouble,
      clock,
      logger,
      ...(metrics && { metrics }),
      signal,
    });
    return { stopped: this.#reconciler.stopped };
  }

  /** Has the spoke of a key reconciled. */
  readonly enqueue = (key: string): void => this.#reconciler?.enqueue(key);

  /** @param text key of a spoke, or of all spokes of an upgrade */
  async reconcile(text: string, signal: AbortSignal): Promise<ReconcileResult> {
    const key = parseSpokeKey(text);
    if (!key) {
      this.#reconcileWhole(text.split('/')[0] ?? '');
      return {};
    }
    try {
      const at = await this.#tracked(key, this.#run(key, signal));
      return at === undefined ? {} : { requeueAfterMs: Math.max(at - this.#deps.clock.now(), LEAST_MS) };
    } finally {
      this.#yielded(text);
    }
  }

  /** Takes the steps of a key that was handed over and that the queue gave back to this process. */
  readonly take: SpokeStep = (key, signal) => this.#tracked(key, this.#take(key, signal));

  async #take(key: SpokeKey, signal: AbortSignal): Promise<boolean> {
    let wrote = false;
    for (const part of this.#deps.parts) {
      try {
        wrote = (await part.step?.(key, signal)) || wrote;
      } catch (error) {
        if (!this.#deps.signal.aborted) this.#deps.problems.note(part.name, key, error);
        throw error;
      }
    }
    return wrote;
  }

  async #tracked<T>({ upgrade }: SpokeKey, run: Promise<T>): Promise<T> {
    this.#underWay.set(run, upgrade);
    try {
      return await run;
    } finally {
      this.#underWay.delete(run);
    }
  }

  /** True where steps that nobody waits for have all their places: the key comes again when one is free. */
  #yields(key: SpokeKey): boolean {
    const text = keyText(key);
    const isPutOff = this.#yielding.size >= MOST_YIELDING && !this.#yielding.has(text);
    (isPutOff ? this.#putOff : this.#yielding).add(text);
    return isPutOff;
  }

  /** A run has ended: the next that was put off comes where there is a place, also when the one before it had nothing to do any more. */
  #yielded(text: string): void {
    this.#yielding.delete(text);
    const [next] = this.#putOff;
    if (next === undefined || this.#yielding.size >= MOST_YIELDING) return;
    this.#putOff.delete(next);
    this.#reconciler?.enqueue(next);
  }

  /** Resolves once no step of the upgrade is under way in this process, which could write later. */
  async settled(upgradeUid: string): Promise<void> {
    await Promise.allSettled([...this.#underWay].flatMap(([run, uid]) => (uid === upgradeUid ? [run] : [])));
  }

  /** Enqueues the spokes of an upgrade that have something to write, or to look at later: most of them have not. */
  #reconcileWhole(uid: string): void {
    const { parts, problems, isGone, handOver, clock } = this.#deps;
    const found = new Set(parts.flatMap((part) => [...(part.clustersOf?.(uid) ?? [])]));
    for (const cluster of found) {
      const key = { upgrade: uid, cluster };
      const plans = parts.flatMap((part) => (part.clustersOf ? [part.plan(key)] : []));
      if (plans.some(({ writes }) => writes !== '')) this.#reconciler?.enqueue(keyText(key));
      else
        for (const { at } of plans)
          if (at !== undefined) this.#reconciler?.enqueue(keyText(key), { afterMs: Math.max(at - clock.now(), 0) });
    }
    if (!isGone(uid)) return;
    this.#attempts.forget(uid);
    problems.forget(uid);
    handOver?.forget(uid);
  }

  /** @returns when to look again, milliseconds since the epoch */
  async #run(key: SpokeKey, signal: AbortSignal): Promise<number | undefined> {
    const times: (number | undefined)[] = [];
    let failure: unknown;
    for (const part of this.#deps.parts) {
      try {
        const plan = part.plan(key);
        if (plan.yields && plan.writes !== '' && this.#yields(key)) times.push(plan.at);
        else times.push(plan.at, plan.writes === '' ? this.#done(part, key) : await this.#write(part, key, plan, signal));
      } catch (error) {
        if (this.#deps.signal.aborted) throw error;
        this.#deps.problems.note(part.name, key, error);
        if (signal.aborted) throw error;
        if (error instanceof WaitingError) times.push(this.#deps.clock.now() + error.retryAfterMs);
        else failure ??= error;
        this.#deps.logger.debug({ part: part.name, ...key, reason: errorMessage(error) }, 'A step failed');
      }
    }
    if (failure !== undefined) throw failure;
    return earliest(...times);
  }

  #done(part: SpokePart, key: SpokeKey): undefined {
    this.#deps.problems.note(part.name, key, undefined);
    this.#deps.handOver?.done(part.name, key);
    this.#attempts.done(key.upgrade, idOf(part, key));
  }

  /** Applies the plan of a part, or hands its step over. */
  async #write(part: SpokePart, key: SpokeKey, { writes, apply }: PartPlan, signal: AbortSignal): Promise<number | undefined> {
    const { clock } = this.#deps;
    const handOver = part.step && this.#deps.handOver;
    const leftMs = handOver?.lateInMs(part.name, key, writes);
    if (leftMs !== undefined) return clock.now() + leftMs;
    const until = this.#attempts.begin(key.upgrade, idOf(part, key), writes);
    if (until !== undefined) return until;
    const waitMs = handOver?.give(part.name, key, writes);
    if (waitMs !== undefined) return clock.now() + waitMs;
    await apply?.(signal);
    this.#deps.problems.note(part.name, key, undefined);
    return undefined;
  }
}

const idOf = (part: SpokePart, { cluster }: SpokeKey): string => `${part.name} ${cluster}`;
