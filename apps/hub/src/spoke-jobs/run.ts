import { isSameJson } from '@flotilla/api';
import type { NodesProgress, PrecacheProgress } from '@flotilla/api/ran';
import type { Pause, SpokeJobMachine, UpgradeIdentity } from '@flotilla/rollout';
import type { JobState, SpokeJob } from './kind.ts';

/** Jobs that one reconcile of an upgrade requests. */
export interface RunRequest<S extends string, I> {
  readonly upgrade: UpgradeIdentity;
  /** Spokes of the remediation plan, and those whose job has begun. */
  readonly clusters: readonly string[];
  /** States in the upgrade's status, as the API server has them. */
  readonly stored: Readonly<Record<string, S>>;
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
export interface TrackedSpoke<S extends string> extends SpokeRecord<S> {
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
  readonly job: Pick<SpokeJob<S, I>, 'machine' | 'digest'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** One upgrade whose spokes run a job. The API server's objects suffice to rebuild it. */
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
    this.update(request);
  }

  /** Accepts a newer request; spokes under way keep their records. Returns the spokes to reconcile: new ones, and those whose verdict is stored. */
  update(request: RunRequest<S, I>): string[] {
    const before = this.request.inputs;
    const isOther = (cluster?: string) => this.#digest?.(request.inputs, cluster) !== this.#digest?.(before, cluster);
    const named = new Set(request.clusters);
    // A spoke that is not asked for keeps the verdict of its last job.
    const changed = this.#startOver(isOther() ? (cluster) => named.has(cluster) : (cluster) => named.has(cluster) && isOther(cluster));
    if (!isSameJson(request.paused, this.request.paused)) changed.push(...this.#restartPatience());
    if (request.paused?.stops) changed.push(...[...this.spokes.keys()].filter((cluster) => this.isUnderWay(cluster)));
    this.request = request;
    for (const cluster of request.clusters) {
      const stored = request.stored[cluster];
      const record = this.spokes.get(cluster);
      if (!record) {
        const state = stored ?? this.#machine.initial;
        const nothing = { message: undefined, progress: undefined, trouble: undefined, cleanAt: undefined };
        this.spokes.set(cluster, { state, stored, ...nothing, since: this.#now(), seenAt: this.#now() });
      }
      if (!record || (stored !== undefined && record.stored !== stored && this.#machine.isFinal(stored))) changed.push(cluster);
      if (record) record.stored = stored;
    }
    return changed;
  }

  /** Returns the spokes that the request no longer names, and whose job has not begun by the status: nobody stores a state of theirs any more. */
  unwanted(): string[] {
    const named = new Set(this.request.clusters);
    const isUnbegun = (stored: S | undefined) => stored === undefined || stored === this.#machine.initial;
    return [...this.spokes].flatMap(([cluster, { stored }]) => (!named.has(cluster) && isUnbegun(stored) ? [cluster] : []));
  }

  /** Restarts spokes with a verdict about other inputs. The others notice by the digests of their objects. */
  #startOver(isOther: (cluster: string) => boolean): string[] {
    const others = [...this.spokes].filter(([cluster]) => isOther(cluster));
    const ended = others.filter(([, { state }]) => this.#machine.isFinal(state));
    for (const [, record] of others) record.since = this.#now();
    for (const [, record] of ended) Object.assign(record, { state: this.#machine.initial, message: undefined, cleanAt: undefined });
    return ended.map(([cluster]) => cluster);
  }

  /** The time of a pause does not count for a spoke that could not begin. */
  #restartPatience(): string[] {
    const unbegun = [...this.spokes].filter(([, { state }]) => state === this.#machine.initial);
    for (const [, record] of unbegun) record.since = this.#now();
    return unbegun.map(([cluster]) => cluster);
  }

  /** True for a state in which no object leads to a job yet. */
  isBeginning(state: S): boolean {
    return state === this.#machine.initial || state === 'PreparingToStart';
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
    return [...this.spokes.values()].every(({ state, stored }) => this.#machine.isFinal(state) && stored === state);
  }

  /** Last observed change of the spoke under way that has been still for longest, milliseconds since the epoch. */
  oldestObservation(): number | undefined {
    const times = [...this.spokes].flatMap(([cluster, { seenAt }]) => (this.isUnderWay(cluster) ? [seenAt] : []));
    return times.length > 0 ? times.reduce((one, other) => Math.min(one, other)) : undefined;
  }

  /** True for a spoke that has not begun, or was stopped: objects of its job on the hub are then a stopped one's, and it begins again after them. */
  isWithoutJob(cluster: string): boolean {
    const record = this.spokes.get(cluster);
    return record?.state === 'NotStarted' && record.stored === 'NotStarted';
  }

  /** True while the job runs on the spoke: no other upgrade may touch it. */
  isUnderWay(cluster: string): boolean {
    const state = this.spokes.get(cluster)?.state ?? this.#machine.initial;
    return state !== this.#machine.initial && !this.#machine.isFinal(state);
  }
}
