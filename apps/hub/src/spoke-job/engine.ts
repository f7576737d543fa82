import { isDeepStrictEqual } from 'node:util';
import { errorMessage, Label } from '@flotilla/api';
import type { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import type { PrecacheProgress } from '@flotilla/api/ran';
import type { Outcome, StepQueue } from '@flotilla/queues';
import type { UpgradeIdentity } from '@flotilla/rollout';
import { isAvailable, TROUBLE_PREFIX } from '@flotilla/rollout';
import type { Logger } from '@flotilla/runtime';
import { hubObjectsOf, spokeKey } from './caches.ts';
import { Claims, type Holder } from './claims.ts';
import { createCleaningPace } from './cleaning-pace.ts';
import type { JobState, SpokeJob } from './definition.ts';
import { readAnswer, readReport } from './observe.ts';
import {
  createSpokeJobProcessor,
  type ProcessorDeps,
  type SpokeJobProcessor,
  type SpokeJobStep,
  type StepOutcome,
  toVersion,
  versionsOf,
} from './processor.ts';
import { type RunRequest, SpokeJobRun, type TrackedSpoke } from './run.ts';

export interface EngineDeps extends ProcessorDeps {
  readonly logger: Logger;
  /** Told whenever what the status of an upgrade should say has changed. */
  readonly onChange: (upgrade: UpgradeIdentity) => void;
}

/** From so many spokes without a job on, those that have one wait this long until they are watched; a job takes minutes. */
const MANY_BEGINNING = 50;
const WATCH_DELAY_MS = 10_000;
/** An error that so many tries in a row end with, over some 5 s, is told: others pass before anybody reads of them. */
const LASTING_TRIES = 5;
/** Pause before a step is repeated by a process whose caches were behind. */
const CATCH_UP_MS = 500;

type Change = 'set' | 'deleted';
type HubObject = ManagedClusterView | ManagedClusterAction;

/** What a hub object belongs to. */
interface Found<S extends JobState, I> {
  readonly run: SpokeJobRun<S, I>;
  readonly record: TrackedSpoke<S>;
  readonly cluster: string;
}

/** Carries one kind of job for every upgrade: turns watch events into steps, and steps into what the status says. The leader's part. */
export class SpokeJobEngine<S extends JobState, I> {
  readonly job: SpokeJob<S, I>;
  readonly #deps: EngineDeps;
  readonly #processor: SpokeJobProcessor<S, I>;
  readonly #runs = new Map<string, SpokeJobRun<S, I>>();
  readonly #claims: Claims;
  readonly #nextCleaning: () => number;
  /** Actions whose end moves a spoke on; the end of the others is seen when these end. */
  readonly #decisive: ReadonlySet<string>;
  #queue: StepQueue<SpokeJobStep<S, I>> | undefined;

  constructor(job: SpokeJob<S, I>, deps: EngineDeps) {
    this.job = job;
    this.#deps = deps;
    this.#processor = createSpokeJobProcessor(job, deps);
    this.#claims = new Claims(job.work, deps.caches);
    this.#nextCleaning = createCleaningPace(deps.now);
    this.#decisive = new Set(Object.values(job.names.actions));
  }

  /** Begins to wake steps on `queue`, whose processor is `this.process` and whose outcomes go to `this.settle`. */
  start(queue: StepQueue<SpokeJobStep<S, I>>): void {
    this.#queue = queue;
    const { views, actions, clusters } = this.#deps.caches;
    views.subscribe(({ type, object }) => this.#onView(type, object));
    actions.subscribe(({ type, object }) => this.#onAction(type, object));
    clusters.subscribe(({ object, previous }) => {
      const matters =
        !previous ||
        isAvailable(object) !== isAvailable(previous) ||
        !isDeepStrictEqual(object.metadata.annotations, previous.metadata.annotations);
      if (matters) this.#onCluster(object.metadata.name);
    });
  }

  /** Takes what one pass of the reconciler wants; wakes the spokes it concerns. */
  request(request: RunRequest<S, I>): SpokeJobRun<S, I> {
    const { uid } = request.upgrade;
    const since = versionsOf(this.#deps.caches);
    const run = this.#runs.get(uid);
    if (run) {
      const changed = run.take(request, since);
      // With the last verdict stored nobody is left whom cleaning could delay.
      if (changed.length > 0 && run.isSettled()) this.#cleanAll(run);
      else for (const cluster of changed) this.#begin(run, cluster);
      return run;
    }
    const begun = new SpokeJobRun({ job: this.job, now: this.#deps.now }, request, since);
    this.#runs.set(uid, begun);
    for (const cluster of begun.spokes.keys()) {
      if (begun.isUnderWay(cluster)) this.#claims.set(uid, cluster);
      this.#begin(begun, cluster);
    }
    return begun;
  }

  /** Takes over what a status write stored, if any job has begun: only then are spokes cleaned. */
  noteStored(uid: string, stored: Readonly<Record<string, S>>): void {
    const run = this.#runs.get(uid);
    if (run) this.request({ ...run.request, stored });
  }

  /** What is known of an upgrade's jobs, if any has begun. */
  run(uid: string): SpokeJobRun<S, I> | undefined {
    return this.#runs.get(uid);
  }

  /** Forgets an upgrade, and lets others have its spokes. */
  end(uid: string): void {
    const run = this.#runs.get(uid);
    if (!run) return;
    for (const cluster of run.spokes.keys()) this.#queue?.forget(this.#stepOf(run, cluster));
    this.#runs.delete(uid);
    for (const cluster of run.spokes.keys()) this.release(uid, cluster);
  }

  /** True while anything of an upgrade's job is left on the hub. */
  hasHubObjects(uid: string, cluster: string): boolean {
    const { views, actions } = hubObjectsOf(this.#deps.caches, spokeKey(this.job.work, uid, cluster));
    return views.length > 0 || actions.length > 0;
  }

  /**
   * One step of one spoke, in the leader's own process. What is known is taken anew, because the step may have waited; and nothing can be
   * missed here: a change that comes while the step runs has woken the spoke again.
   */
  readonly process = async ({ upgrade, cluster }: SpokeJobStep<S, I>, signal?: AbortSignal): Promise<StepOutcome<S> | undefined> => {
    const run = this.#runs.get(upgrade.uid);
    if (!run?.spokes.has(cluster)) return undefined;
    return { ...(await this.#processor(this.#stepOf(run, cluster), signal)), seen: undefined };
  };

  /** Takes the outcome of a step, run here or elsewhere, over into what this process knows. */
  settle({ upgrade, cluster }: Pick<SpokeJobStep<S, I>, 'upgrade' | 'cluster'>, outcome: StepOutcome<S> | undefined): void {
    const run = this.#runs.get(upgrade.uid);
    const record = run?.spokes.get(cluster);
    if (!run || !record || !outcome) return;
    // It began elsewhere, or with what is no longer wanted: its verdict may be about something else.
    if (outcome.known.state !== record.state || outcome.known.revision !== run.revision) return this.#wake(run, cluster);
    const { machine, priorities } = this.job;
    if (outcome.wakeAt !== undefined)
      this.#queue?.wakeAt(this.#stepOf(run, cluster), outcome.wakeAt, { priority: priorities[outcome.state] });
    const final = machine.isFinal(outcome.state);
    if (final && !this.hasHubObjects(upgrade.uid, cluster)) this.release(upgrade.uid, cluster);
    record.trouble = undefined;
    const hasEnded = final && record.state !== outcome.state;
    this.#record(run, cluster, record, outcome);
    if (hasEnded) this.#wakeWaiting(cluster);
    this.#repeatIfBehind(run, cluster, record, outcome);
  }

  /** Takes over why a step failed; the queue tries it again. An error that lasts stands in the status, and ends the spoke at its deadline. */
  fail({ upgrade, cluster }: Pick<SpokeJobStep<S, I>, 'upgrade' | 'cluster'>, outcome: Exclude<Outcome<unknown>, { kind: 'done' }>): void {
    const run = this.#runs.get(upgrade.uid);
    const record = run?.spokes.get(cluster);
    if (!run || !record || (outcome.kind === 'failed' && outcome.attempt < LASTING_TRIES)) return;
    const trouble = troubleOf(outcome.error);
    if (record.trouble === trouble) return;
    record.trouble = trouble;
    if (this.job.machine.isFinal(record.state)) return;
    record.message = trouble;
    this.#wakeAt(run, cluster, Math.max(this.#deadlineOf(run, record, cluster), this.#deps.now() + 1000));
    this.#deps.onChange(run.request.upgrade);
  }

  #deadlineOf({ request }: SpokeJobRun<S, I>, record: TrackedSpoke<S>, cluster: string): number {
    const managed = this.#deps.caches.clusters.get({ name: cluster });
    const target = { upgradeUid: request.upgrade.uid, managed, clusters: request.clusters.length };
    return record.since + this.job.workload(request.inputs, target).patienceMs;
  }

  #record(run: SpokeJobRun<S, I>, cluster: string, record: TrackedSpoke<S>, outcome: StepOutcome<S>): void {
    const { upgrade } = run.request;
    const final = this.job.machine.isFinal(outcome.state);
    // A final state keeps the message its verdict came with.
    const message = final && record.state === outcome.state ? record.message : outcome.message;
    if (record.state === outcome.state && record.message === message) return;
    if (record.state !== outcome.state) {
      const fields = { work: this.job.work, upgrade: upgrade.name, cluster, from: record.state, to: outcome.state };
      this.#deps.logger.debug(fields, 'Job state changed');
    }
    record.state = outcome.state;
    record.message = message;
    if (final) record.progress = undefined;
    this.#deps.onChange(upgrade);
  }

  /** A step is repeated when it started from what is no longer so, or when its caches had not seen what it was woken for. */
  #repeatIfBehind(run: SpokeJobRun<S, I>, cluster: string, record: TrackedSpoke<S>, { known, seen }: StepOutcome<S>): void {
    const final = this.job.machine.isFinal(record.state);
    if (final && record.stored === record.state && known.stored !== record.stored) this.#begin(run, cluster);
    const { heldBy, holderEnded, revision } = this.#stepOf(run, cluster).known;
    const isHeldOtherwise = known.heldBy !== heldBy || known.holderEnded !== holderEnded;
    if (!final && (isHeldOtherwise || known.revision !== revision)) this.#wake(run, cluster);
    const { changed } = record;
    if (seen && (seen.views < changed.views || seen.actions < changed.actions || seen.clusters < changed.clusters))
      this.#wakeAt(run, cluster, this.#deps.now() + CATCH_UP_MS);
  }

  /** Takes a cluster for what an upgrade left on it, or tells who has it. */
  take(uid: string, cluster: string): Holder | undefined {
    return this.#claims.take(uid, cluster);
  }

  /** Lets another upgrade have a cluster. */
  release(uid: string, cluster: string): void {
    if (this.#claims.release(uid, cluster)) this.#wakeWaiting(cluster);
  }

  /** Whoever may be waiting for the cluster looks at it again, and its patience begins now. */
  #wakeWaiting(cluster: string): void {
    for (const run of this.#runs.values()) {
      const record = run.spokes.get(cluster);
      if (record?.state !== this.job.machine.initial) continue;
      record.since = this.#deps.now();
      this.#wake(run, cluster);
    }
  }

  /** The holder has its verdict for the cluster, or is no run any more: what holds is what it left there. */
  #hasEnded(holder: Holder, cluster: string): boolean {
    const record = this.#runs.get(holder.uid)?.spokes.get(cluster);
    return !record || this.job.machine.isFinal(record.state);
  }

  #onView(type: Change, view: ManagedClusterView): void {
    const found = this.#find(view);
    if (!found) return this.#onForeign(type, view);
    const { run, record, cluster } = found;
    if (type === 'set' && view.metadata.name === this.job.names.views.progress?.name) return this.#onProgress(run, record, view);
    if (type === 'deleted') return this.#onDeleted(found, 'views', view);
    if (!view.status?.conditions || this.job.machine.isFinal(record.state)) return;
    note(record, 'views', view);
    this.#wake(run, cluster);
  }

  #onAction(type: Change, action: ManagedClusterAction): void {
    const found = this.#find(action);
    if (!found) return this.#onForeign(type, action);
    const { run, record, cluster } = found;
    if (type === 'deleted') return this.#onDeleted(found, 'actions', action);
    const condition = action.status?.conditions?.[0];
    if (!condition || (condition.status !== 'False' && !this.#decisive.has(action.metadata.name))) return;
    note(record, 'actions', action);
    if (condition.status === 'True' && action.metadata.name === this.job.names.actions.createJob) this.#onJobCreated(run, cluster);
    else this.#wake(run, cluster);
  }

  #onCluster(cluster: string): void {
    const version = toVersion(this.#deps.caches.clusters.resourceVersion);
    for (const run of this.#runs.values()) {
      const record = run.spokes.get(cluster);
      if (!record) continue;
      record.changed.clusters = Math.max(record.changed.clusters, version);
      this.#wake(run, cluster);
    }
  }

  /** A job that has just begun has nothing to say yet: while many spokes still wait for theirs, watching it can wait. */
  #onJobCreated(run: SpokeJobRun<S, I>, cluster: string): void {
    if (run.countBeginning() <= MANY_BEGINNING) this.#wake(run, cluster);
    else this.#wakeAt(run, cluster, this.#deps.now() + WATCH_DELAY_MS);
  }

  /** The last object of a spoke that is done frees the spoke; one that is missing too early is created again. */
  #onDeleted({ run, record, cluster }: Found<S, I>, cache: 'views' | 'actions', object: HubObject): void {
    const { uid } = run.request.upgrade;
    if (!this.job.machine.isFinal(record.state)) {
      note(record, cache, object);
      this.#wake(run, cluster);
    } else if (!this.hasHubObjects(uid, cluster)) this.release(uid, cluster);
  }

  /** An object of an upgrade that is being torn down: the last one frees the spoke. */
  #onForeign(type: Change, { metadata }: HubObject): void {
    if (type !== 'deleted' || metadata.labels?.[Label.work] !== this.job.work) return;
    const [uid, cluster] = [metadata.labels[Label.upgradeUid] ?? '', metadata.namespace ?? ''];
    if (!this.hasHubObjects(uid, cluster)) this.release(uid, cluster);
  }

  #onProgress(run: SpokeJobRun<S, I>, record: TrackedSpoke<S>, view: ManagedClusterView): void {
    const wanted = this.job.names.views.progress;
    const report = wanted && readReport(readAnswer(view, wanted.target));
    if (!report || this.job.machine.isFinal(record.state)) return;
    const { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } = report;
    record.progress = { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } satisfies PrecacheProgress;
    this.#deps.onChange(run.request.upgrade);
  }

  #find({ metadata }: HubObject): Found<S, I> | undefined {
    if (metadata.labels?.[Label.work] !== this.job.work) return undefined;
    const run = this.#runs.get(metadata.labels[Label.upgradeUid] ?? '');
    const cluster = metadata.namespace ?? '';
    const record = run?.spokes.get(cluster);
    return run && record ? { run, record, cluster } : undefined;
  }

  /**
   * Wakes a spoke that is new or whose verdict was just stored: the first at once, the second, if it is not clean, when its turn to be
   * cleaned comes.
   */
  #begin(run: SpokeJobRun<S, I>, cluster: string): void {
    if (!this.job.machine.isFinal(this.#stateOf(run, cluster))) this.#wake(run, cluster);
    else if (this.hasHubObjects(run.request.upgrade.uid, cluster)) this.#wakeAt(run, cluster, this.#nextCleaning());
  }

  #cleanAll(run: SpokeJobRun<S, I>): void {
    for (const cluster of run.spokes.keys()) if (this.hasHubObjects(run.request.upgrade.uid, cluster)) this.#wake(run, cluster);
  }

  #wake(run: SpokeJobRun<S, I>, cluster: string): void {
    void this.#queue?.wake(this.#stepOf(run, cluster), { priority: this.job.priorities[this.#stateOf(run, cluster)] });
  }

  #wakeAt(run: SpokeJobRun<S, I>, cluster: string, epochMs: number): void {
    this.#queue?.wakeAt(this.#stepOf(run, cluster), epochMs, { priority: this.job.priorities[this.#stateOf(run, cluster)] });
  }

  #stateOf(run: SpokeJobRun<S, I>, cluster: string): S {
    return run.spokes.get(cluster)?.state ?? this.job.machine.initial;
  }

  /** A step with all that is known now. A spoke that can begin is claimed by it. */
  #stepOf(run: SpokeJobRun<S, I>, cluster: string): SpokeJobStep<S, I> {
    const { upgrade, clusters, inputs } = run.request;
    const state = this.#stateOf(run, cluster);
    const holder = state === this.job.machine.initial ? this.#claims.take(upgrade.uid, cluster) : undefined;
    const { stored, since = this.#deps.now(), trouble } = run.spokes.get(cluster) ?? {};
    const wait = { heldBy: holder?.name, holderEnded: holder && this.#hasEnded(holder, cluster), since, trouble };
    return { upgrade, cluster, known: { state, stored, revision: run.revision, ...wait }, clusters: clusters.length, inputs };
  }
}

/** The server's own words: a message in the status is short, and which path was asked helps nobody who reads it there. */
const troubleOf = (error: unknown): string =>
  TROUBLE_PREFIX +
  errorMessage(error)
    .slice(0, 1024)
    .replace(/^[A-Z]{3,6} \/[^ ]{1,600}: (\d{3}: )?/, '');

/** Notes a change that wakes a spoke. */
function note(record: TrackedSpoke<string>, cache: 'views' | 'actions', { metadata }: HubObject): void {
  record.changed[cache] = Math.max(record.changed[cache], toVersion(metadata.resourceVersion));
}
