import type { PrecacheProgress } from '@flotilla/api/ran';
import type { SpokeJobMachine, UpgradeIdentity } from '@flotilla/rollout';
import type { JobState, SpokeJob } from './kind.ts';

/** What the reconciler wants of a kind of job, from one pass over one upgrade. */
export interface RunRequest<S extends string, I> {
  readonly upgrade: UpgradeIdentity;
  /** Spokes of the remediation plan, and those whose job has begun. */
  readonly clusters: readonly string[];
  /** States in the upgrade's status, as the API server has them. */
  readonly stored: Readonly<Record<string, S>>;
  readonly inputs: I;
  /** Why no cluster begins; what runs ends. */
  readonly paused?: string | undefined;
}

/** One spoke of a run, as this process knows it. */
export interface SpokeRecord<S extends string> {
  state: S;
  stored: S | undefined;
  message: string | undefined;
  progress: PrecacheProgress | undefined;
}

/** A record with what only the engine reads. */
export interface TrackedSpoke<S extends string> extends SpokeRecord<S> {
  /** Since when the spoke is waited for while it has no view, milliseconds since the epoch: time spent waiting for others does not count. */
  since: number;
  /** Why its last steps failed, as a sentence; absent while they succeed. */
  trouble: string | undefined;
  /** Its turn to be cleaned, milliseconds since the epoch. */
  cleanAt: number | undefined;
}

/** What the run of one upgrade asks of its engine. */
interface RunSurroundings<S extends JobState, I> {
  readonly job: Pick<SpokeJob<S, I>, 'machine' | 'digest'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** One upgrade whose spokes run a job. Nothing in it that cannot be had again from the API server. */
export class SpokeJobRun<S extends JobState, I> {
  request: RunRequest<S, I>;
  readonly spokes = new Map<string, TrackedSpoke<S>>();
  readonly #machine: SpokeJobMachine<S>;
  readonly #digest: SpokeJob<S, I>['digest'];
  readonly #now: () => number;

  constructor({ job, now }: RunSurroundings<S, I>, request: RunRequest<S, I>) {
    this.#machine = job.machine;
    this.#digest = job.digest;
    this.#now = now;
    this.request = request;
    this.take(request);
  }

  /** Takes over a newer request; spokes already under way keep what they know. Returns those that need a look: new ones, and those whose verdict is stored. */
  take(request: RunRequest<S, I>): string[] {
    const changed = this.#digest?.(request.inputs) === this.#digest?.(this.request.inputs) ? [] : this.#startOver();
    if (request.paused !== this.request.paused) changed.push(...this.#restartPatience());
    this.request = request;
    for (const cluster of request.clusters) {
      const stored = request.stored[cluster];
      const record = this.spokes.get(cluster);
      if (!record) {
        const state = stored ?? this.#machine.initial;
        const nothing = { message: undefined, progress: undefined, trouble: undefined, cleanAt: undefined };
        this.spokes.set(cluster, { state, stored, ...nothing, since: this.#now() });
      }
      if (!record || (stored !== undefined && record.stored !== stored && this.#machine.isFinal(stored))) changed.push(cluster);
      if (record) record.stored = stored;
    }
    return changed;
  }

  /** A verdict about another spec is none. The others see by what they made that it is outdated. */
  #startOver(): string[] {
    const ended = [...this.spokes].filter(([, { state }]) => this.#machine.isFinal(state));
    for (const record of this.spokes.values()) record.since = this.#now();
    for (const [, record] of ended) Object.assign(record, { state: this.#machine.initial, message: undefined, cleanAt: undefined });
    return ended.map(([cluster]) => cluster);
  }

  /** The time of a pause does not count for a spoke that could not begin. */
  #restartPatience(): string[] {
    const unbegun = [...this.spokes].filter(([, { state }]) => state === this.#machine.initial);
    for (const [, record] of unbegun) record.since = this.#now();
    return unbegun.map(([cluster]) => cluster);
  }

  /** True for a state in which nothing is on its way to a spoke that would make its job. */
  isBeginning(state: S): boolean {
    return state === this.#machine.initial || state === 'PreparingToStart';
  }

  /** True for a state in which a spoke may have no job yet. */
  isOnItsWay(state: S): boolean {
    return this.isBeginning(state) || state === 'Starting';
  }

  /** Spokes to which nothing is on its way yet. */
  countBeginning(): number {
    let count = 0;
    for (const { state } of this.spokes.values()) if (this.isBeginning(state)) count += 1;
    return count;
  }

  /** True when every spoke has its verdict, and the verdict is in the status. */
  isSettled(): boolean {
    return [...this.spokes.values()].every(({ state, stored }) => this.#machine.isFinal(state) && stored === state);
  }

  /** True while the spoke is being worked on: no other upgrade may touch it. */
  isUnderWay(cluster: string): boolean {
    const state = this.spokes.get(cluster)?.state ?? this.#machine.initial;
    return state !== this.#machine.initial && !this.#machine.isFinal(state);
  }
}
