import { errorMessage, WaitingError } from '@flotilla/api';
import {
  type Clock,
  type Logger,
  type Metrics,
  type ReconcileResult,
  type Reconciler,
  type ReconcilerOptions,
  startReconciler,
} from '@flotilla/runtime';
import type { SpokePart, SpokeStep } from './part.ts';
import type { Problems } from './problems.ts';
import { keyText, parseSpokeKey, type SpokeKey } from './spoke-key.ts';

/** Hands steps over to other processes (`HandOver`). */
interface HandsOver {
  lateInMs(part: SpokePart['name'], key: SpokeKey, plan: string): number | undefined;
  give(part: SpokePart['name'], key: SpokeKey, plan: string): number | undefined;
  done(part: SpokePart['name'], key: SpokeKey): void;
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
/** Bound of steps for one plan within so many milliseconds: somebody may undo each write for ever. */
const MOST_IN_A_ROW = 12;
const ROW_MS = 15_000;
/** Spokes at a time with steps that nobody waits for: a whole fleet may return at once. */
const MOST_YIELDING = 4;
/** Milliseconds until a spoke is looked at again at the earliest: a time that has passed must not keep the loop busy. */
const LEAST_MS = 50;
const BACK_OFF = { baseMs: 500, maxMs: 60_000 };

/** Steps for the same writes in a row. */
interface Row {
  readonly plan: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly times: number;
}

/** Writes what the stored statuses of upgrades want on each spoke, or has a worker do it. Only the leader has one; it decides nothing that a status says. */
export class SpokeReconciler {
  readonly #deps: SpokeReconcilerDeps;
  /** Rows by uid of the upgrade, then by part and cluster. */
  readonly #rows = new Map<string, Map<string, Row>>();
  /** Runs with steps in this process, with the uid of their upgrade. */
  readonly #underWay = new Map<Promise<unknown>, string>();
  /** Keys that take a step which nobody waits for, and keys that wait for their place. */
  readonly #yielding = new Set<string>();
  readonly #putOff = new Set<string>();
  #reconciler: Reconciler | undefined;

  constructor(deps: SpokeReconcilerDeps) {
    this.#deps = deps;
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
      if (part.leaderAlone) continue;
      try {
        wrote = (await part.step(key, signal)) || wrote;
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
    const { parts, problems, isGone, clock } = this.#deps;
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
    this.#rows.delete(uid);
    problems.forget(uid);
  }

  /** @returns when to look again, milliseconds since the epoch */
  async #run(key: SpokeKey, signal: AbortSignal): Promise<number | undefined> {
    const times: (number | undefined)[] = [];
    let failure: unknown;
    for (const part of this.#deps.parts) {
      try {
        const { writes, at, yields } = part.plan(key);
        if (yields && writes !== '' && this.#yields(key)) times.push(at);
        else times.push(at, writes === '' ? this.#done(part, key) : await this.#write(part, key, writes, signal));
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
    const known = times.filter((time) => time !== undefined);
    return known.length > 0 ? Math.min(...known) : undefined;
  }

  #done(part: SpokePart, key: SpokeKey): undefined {
    this.#deps.problems.note(part.name, key, undefined);
    this.#deps.handOver?.done(part.name, key);
    const rows = this.#rows.get(key.upgrade);
    const id = rowOf(part, key);
    if ((rows?.get(id)?.since ?? Number.POSITIVE_INFINITY) + ROW_MS <= this.#deps.clock.now()) rows?.delete(id);
    if (rows?.size === 0) this.#rows.delete(key.upgrade);
  }

  /** Takes the step of a part, or hands it over. */
  async #write(part: SpokePart, key: SpokeKey, plan: string, signal: AbortSignal): Promise<number | undefined> {
    const { clock } = this.#deps;
    const handOver = part.leaderAlone ? undefined : this.#deps.handOver;
    const leftMs = handOver?.lateInMs(part.name, key, plan);
    if (leftMs !== undefined) return clock.now() + leftMs;
    const until = this.#pausedUntil(part, key, plan);
    if (until !== undefined) return until;
    const waitMs = handOver?.give(part.name, key, plan);
    if (waitMs !== undefined) return clock.now() + waitMs;
    await part.step(key, signal);
    this.#deps.problems.note(part.name, key, undefined);
    return undefined;
  }

  /** Counts a step; returns until when there is none, milliseconds since the epoch. */
  #pausedUntil(part: SpokePart, key: SpokeKey, plan: string): number | undefined {
    const { upgrade } = key;
    const now = this.#deps.clock.now();
    const rows = this.#rows.get(upgrade) ?? new Map<string, Row>();
    const id = rowOf(part, key);
    const row = rows.get(id);
    const goesOn = row?.plan === plan && row.since <= now && now - row.since < ROW_MS;
    if (goesOn && row.times >= MOST_IN_A_ROW) return row.since + ROW_MS;
    this.#rows.set(upgrade, rows.set(id, goesOn ? { ...row, times: row.times + 1 } : { plan, since: now, times: 1 }));
    return undefined;
  }
}

const rowOf = (part: SpokePart, { cluster }: SpokeKey): string => `${part.name} ${cluster}`;
