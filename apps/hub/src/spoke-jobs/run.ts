import { isSameJson } from '@flotilla/api';
import type { NodesProgress, PrecacheProgress } from '@flotilla/api/ran';
import type { Pause, UpgradeIdentity } from '@flotilla/rollout';
import { keyId, type StepKey } from '../steps/step-key.ts';
import type { JobState, SpokeJob } from './kind.ts';

/** Jobs that one reconcile of an upgrade requests. */
export interface RunRequest<S extends string, I> {
  readonly upgrade: UpgradeIdentity;
  /** Spokes of the remediation plan, and those whose job has begun. */
  readonly clusters: readonly string[];
  /** States in the upgrade's status, as the API server has them. */
  readonly stored: Readonly<Record<string, S>>;
  /** Sentences in the upgrade's status, as the API server has them: those of verdicts are kept by a process that did not make them. */
  readonly said?: Readonly<Record<string, string>> | undefined;
  readonly inputs: I;
  /** Why no cluster begins; what runs ends by itself, or is stopped. */
  readonly paused?: Pick<Pause, 'message' | 'stops'> | undefined;
}

/** One spoke of a run, as this process knows it. */
export interface SpokeRecord<S extends string> {
  state: S;
  stored: S | undefined;
  message: string | undefined;
  progress: PrecacheProgress | undefined;
  /** Nodes of a spoke with more than one; kept with the verdict. */
  nodes?: NodesProgress | undefined;
}

/** A record with the engine's own fields. */
export interface TrackedSpoke<S extends JobState, I> extends SpokeRecord<S> {
  readonly key: StepKey;
  /** The key as text. */
  readonly id: string;
  readonly run: SpokeJobRun<S, I>;
  /** Start of the wait while the spoke has no view, milliseconds since the epoch. Time spent waiting for other upgrades does not count. */
  since: number;
  /** Last observed change of its state or progress, milliseconds since the epoch. */
  seenAt: number;
  /** Error of its last steps, as a sentence; absent while they succeed. */
  trouble: string | undefined;
  /** Scheduled time of its cleaning, milliseconds since the epoch. */
  cleanAt: number | undefined;
}

/** Surroundings of a `SpokeJobRun`. */
interface RunSurroundings<S extends JobState, I> {
  readonly job: Pick<SpokeJob<S, I>, 'work' | 'machine' | 'digest'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** One upgrade whose spokes run a job. The API server's objects suffice to rebuild it. */
export class SpokeJobRun<S extends JobState, I> {
  request: RunRequest<S, I>;
  readonly spokes = new Map<string, TrackedSpoke<S, I>>();
  readonly #job: RunSurroundings<S, I>['job'];
  readonly #now: () => number;

  constructor({ job, now }: RunSurroundings<S, I>, request: RunRequest<S, I>) {
    this.#job = job;
    this.#now = now;
    this.request = request;
    this.update(request);
  }

  /** Accepts a newer request; spokes under way keep their records. Returns the spokes to reconcile: new ones, and those whose verdict is stored. */
  update(request: RunRequest<S, I>): TrackedSpoke<S, I>[] {
    const { inputs: before, paused } = this.request;
    const isOther = (cluster?: string) =>
      request.inputs !== before && this.#job.digest?.(request.inputs, cluster) !== this.#job.digest?.(before, cluster);
    const isEveryOther = isOther();
    // A spoke that is not asked for keeps the verdict of its last job.
    const asked = request.clusters.flatMap((cluster) => this.spokes.get(cluster) ?? []);
    const changed = this.#startOver(isEveryOther ? asked : asked.filter(({ key }) => isOther(key.cluster)));
    if (!isSameJson(request.paused, paused)) changed.push(...this.#restartPatience());
    if (request.paused?.stops) changed.push(...[...this.spokes.values()].filter((record) => this.isUnderWay(record)));
    this.request = request;
    for (const cluster of request.clusters) {
      const stored = request.stored[cluster];
      const record = this.spokes.get(cluster);
      if (!record) changed.push(this.#begin(cluster, stored));
      else if (stored !== undefined && record.stored !== stored && this.#job.machine.isFinal(stored)) changed.push(record);
      if (record) record.stored = stored;
    }
    return changed;
  }

  #begin(cluster: string, stored: S | undefined): TrackedSpoke<S, I> {
    const key: StepKey = { kind: this.#job.work, upgrade: this.request.upgrade.uid, cluster };
    const nothing = { progress: undefined, trouble: undefined, cleanAt: undefined };
    const [state, now]: [S, number] = [stored ?? this.#job.machine.initial, this.#now()];
    const message = this.#job.machine.isFinal(state) ? this.request.said?.[cluster] : undefined;
    const record: TrackedSpoke<S, I> = { key, id: keyId(key), run: this, state, stored, message, ...nothing, since: now, seenAt: now };
    this.spokes.set(cluster, record);
    return record;
  }

  /** Returns the spokes that the request no longer names, and whose job has not begun by the status: nobody stores a state of theirs any more. */
  unwanted(): TrackedSpoke<S, I>[] {
    const named = new Set(this.request.clusters);
    const isUnbegun = (stored: S | undefined) => stored === undefined || stored === this.#job.machine.initial;
    return [...this.spokes.values()].filter(({ key, stored }) => !named.has(key.cluster) && isUnbegun(stored));
  }

  /** Restarts spokes with a verdict about other inputs. The others notice by the digests of their objects. */
  #startOver(others: readonly TrackedSpoke<S, I>[]): TrackedSpoke<S, I>[] {
    const ended = others.filter(({ state }) => this.#job.machine.isFinal(state));
    for (const record of others) record.since = this.#now();
    for (const record of ended) Object.assign(record, { state: this.#job.machine.initial, message: undefined, cleanAt: undefined });
    return ended;
  }

  /** The time of a pause does not count for a spoke that could not begin. */
  #restartPatience(): TrackedSpoke<S, I>[] {
    const unbegun = [...this.spokes.values()].filter(({ state }) => state === this.#job.machine.initial);
    for (const record of unbegun) record.since = this.#now();
    return unbegun;
  }

  /** True for a state in which no object leads to a job yet. */
  isBeginning(state: S): boolean {
    return state === this.#job.machine.initial || state === 'PreparingToStart';
  }

  /** True for a state in which a spoke may have no job yet. */
  isOnItsWay(state: S): boolean {
    return this.isBeginning(state) || state === 'Starting';
  }

  /** Counts the spokes without an object that leads to a job. */
  countBeginning(): number {
    let count = 0;
    for (const { state } of this.spokes.values()) if (this.isBeginning(state)) count += 1;
    return count;
  }

  /** True when every spoke has its verdict in the status. */
  hasAllVerdicts(): boolean {
    return this.spokes.values().every(({ state, stored }) => this.#job.machine.isFinal(state) && stored === state);
  }

  /** Last observed change of the spoke under way that has been still for longest, milliseconds since the epoch. */
  oldestObservation(): number | undefined {
    const times = [...this.spokes.values()].flatMap((record) => (this.isUnderWay(record) ? [record.seenAt] : []));
    return times.length > 0 ? times.reduce((one, other) => Math.min(one, other)) : undefined;
  }

  /** True while the job runs on the spoke: no other upgrade may touch it. */
  isUnderWay({ state }: Pick<TrackedSpoke<S, I>, 'state'>): boolean {
    return state !== this.#job.machine.initial && !this.#job.machine.isFinal(state);
  }
}
