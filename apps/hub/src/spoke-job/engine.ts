import { errorMessage, isSameJson } from '@flotilla/api';
import type { ClusterGroupUpgrade, PrecacheProgress, PullerReport } from '@flotilla/api/ran';
import { isAvailable, TROUBLE_PREFIX, type UpgradeIdentity } from '@flotilla/rollout';
import type { Clock, Logger } from '@flotilla/runtime';
import { DueSteps } from '../due-steps.ts';
import { onSpokeChanges, type SpokeChange } from '../spokes/changes.ts';
import { findDenial } from '../spokes/denied-cluster.ts';
import { BY_UID, versionsIn } from '../spokes/port/caches.ts';
import type { SpokeObservation } from '../spokes/port/port.ts';
import { countWays, holdsSpoke, reachSpoke } from '../spokes/reach.ts';
import { keyId, type StepKey } from '../step-key.ts';
import type { StepQueue } from '../step-queue.ts';
import { createSpokeStep, type SpokeStep, type SpokeStepDeps } from './apply.ts';
import { Beginnings } from './beginnings.ts';
import { Claims, type Holder } from './claims.ts';
import { createCleaningPace } from './cleaning-pace.ts';
import type { JobState, SpokeJob } from './definition.ts';
import { isHeldUp, type StepContext } from './interpret.ts';
import { type ObserveDeps, observeStep, storedSpoke } from './observe.ts';
import { decide, planStep } from './plan.ts';
import { type RunRequest, SpokeJobRun, type TrackedSpoke } from './run.ts';

/** What the engine of a kind of job needs. */
export interface EngineDeps extends SpokeStepDeps {
  readonly logger: Logger;
  /** Told whenever what the status of an upgrade should say has changed. */
  readonly onChange: (upgrade: UpgradeIdentity) => void;
  /** Of timers. */
  readonly clock: Clock;
}

/** From so many spokes without a job on, those that have one wait this long until they are watched; a job takes minutes. */
const MANY_BEGINNING = 50;
const WATCH_DELAY_MS = 10_000;

/**
 * Carries one kind of job for every upgrade: derives each spoke's state from what is observed, and wants a step where the stored status
 * has something left to do. The leader's part; it keeps nothing that cannot be had again.
 */
export class SpokeJobEngine<S extends JobState, I> {
  readonly job: SpokeJob<S, I>;
  /** One step in the leader's own process. */
  readonly step: SpokeStep;
  readonly #deps: EngineDeps;
  readonly #runs = new Map<string, SpokeJobRun<S, I>>();
  readonly #claims: Claims;
  readonly #nextCleaning: () => number;
  readonly #beginnings: Beginnings;
  readonly #observing: ObserveDeps;
  readonly #versionsOf: (cluster: string) => string;
  #steps: DueSteps | undefined;
  #queue: StepQueue | undefined;

  constructor(job: SpokeJob<S, I>, deps: EngineDeps) {
    this.job = job;
    this.#deps = deps;
    this.#versionsOf = (cluster) => versionsIn(deps.caches, job.work, cluster);
    this.#observing = { caches: deps.caches, now: deps.now, mayBegin: (uid, cluster) => this.#mayBegin(uid, cluster) };
    this.step = createSpokeStep(job, { ...this.#observing, client: deps.client });
    this.#claims = new Claims(job.work, deps.caches);
    this.#nextCleaning = createCleaningPace(deps.now);
    this.#beginnings = new Beginnings({ clock: deps.clock, onTurn: (key) => this.#onTurn(key) });
  }

  /** Begins to want steps of `queue`, until the signal aborts. */
  start(queue: StepQueue, signal: AbortSignal): void {
    this.#queue = queue;
    this.#steps = new DueSteps({
      queue,
      clock: this.#deps.clock,
      step: (key) => this.step(key),
      look: ({ upgrade, cluster }) => {
        const run = this.#runs.get(upgrade);
        if (run) this.#look(run, cluster);
      },
      onLate: (key, error) => {
        if (error !== undefined) this.fail(key, error);
      },
    });
    signal.addEventListener('abort', () => this.#stop(), { once: true });
    const { caches } = this.#deps;
    const { clusters, upgrades } = caches;
    onSpokeChanges(caches, this.job, (change) => this.#onSpoke(change));
    upgrades.subscribe(({ object, previous }) => this.#onUpgrade(object, previous));
    clusters.subscribe(({ object, previous }) => {
      const matters =
        !previous ||
        isAvailable(object) !== isAvailable(previous) ||
        findDenial(object) !== findDenial(previous) ||
        !isSameJson(object.metadata.annotations, previous.metadata.annotations);
      if (matters) for (const run of this.#runs.values()) this.#look(run, object.metadata.name);
    });
  }

  #stop(): void {
    this.#steps?.stop();
    this.#beginnings.stop();
    this.#steps = undefined;
    this.#queue = undefined;
  }

  /** Takes what one pass of the reconciler wants; looks at the spokes it concerns. */
  request(request: RunRequest<S, I>): SpokeJobRun<S, I> {
    const { uid } = request.upgrade;
    const run = this.#runs.get(uid);
    if (run) {
      const changed = run.take(request);
      // With the last verdict stored nobody is left whom cleaning could delay.
      for (const cluster of changed.length > 0 && run.isSettled() ? run.spokes.keys() : changed) this.#look(run, cluster);
      return run;
    }
    const begun = new SpokeJobRun({ job: this.job, now: this.#deps.now }, request);
    this.#runs.set(uid, begun);
    this.#logWays(request);
    for (const cluster of begun.spokes.keys()) {
      if (begun.isUnderWay(cluster)) this.#claims.set(uid, cluster);
      this.#look(begun, cluster);
    }
    return begun;
  }

  /** Says once for each upgrade how its clusters are reached, and why. */
  #logWays({ upgrade, clusters }: RunRequest<S, I>): void {
    const ways = countWays(this.#deps.caches, this.job.transport, clusters);
    const fields = { work: this.job.work, upgrade: upgrade.name };
    for (const [reason, { by, count }] of ways) this.#deps.logger.info({ ...fields, by, clusters: count, reason }, 'Reaching clusters');
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
    this.#runs.delete(uid);
    for (const cluster of run.spokes.keys()) {
      const key = this.#keyOf(uid, cluster);
      this.#queue?.forget(keyId(key));
      this.#steps?.forget(key);
      this.#beginnings.leave(key);
      this.release(uid, cluster);
    }
  }

  /** True while anything of an upgrade's job is left on the hub, but for what waits there for the upgrade's end. */
  hasHubObjects(uid: string, cluster: string): boolean {
    return holdsSpoke(this.#deps.caches, this.job.work, uid, cluster);
  }

  /** Takes over why steps of a spoke keep failing: it stands in the status, and ends the spoke at its deadline. */
  fail({ upgrade, cluster }: Pick<StepKey, 'upgrade' | 'cluster'>, error: unknown): void {
    const run = this.#runs.get(upgrade);
    const record = run?.spokes.get(cluster);
    const trouble = troubleOf(error);
    if (!run || !record || record.trouble === trouble) return;
    record.trouble = trouble;
    if (this.job.machine.isFinal(record.state)) return;
    record.message = trouble;
    this.#lookAt(run, cluster, Math.max(this.#deadlineOf(run, record, cluster), this.#deps.now() + 1000));
    this.#deps.onChange(run.request.upgrade);
  }

  /** Takes a cluster for what an upgrade left on it, or tells who has it. */
  take(uid: string, cluster: string): Holder | undefined {
    return this.#claims.take(uid, cluster);
  }

  /** Lets another upgrade have a cluster. */
  release(uid: string, cluster: string): void {
    if (this.#claims.release(uid, cluster)) this.#wakeWaiting(cluster);
  }

  /** Derives a spoke's state from what is observed now, tells it, and asks for what the stored status leaves to do. */
  #look(run: SpokeJobRun<S, I>, cluster: string): void {
    const record = run.spokes.get(cluster);
    if (!record) return;
    const { uid } = run.request.upgrade;
    const { spoke, context } = this.#observe(run, record, cluster);
    const { state, message, lookAt } = decide(record.state, spoke, context);
    const isFinal = this.job.machine.isFinal(state);
    const hasEnded = isFinal && record.state !== state;
    this.#record(run, cluster, record, { state, message });
    if (isFinal && !this.hasHubObjects(uid, cluster)) this.release(uid, cluster);
    if (hasEnded) this.#wakeWaiting(cluster);
    // While somebody works on the spoke, time does not count.
    const isTimed = !isFinal && (context.heldBy === undefined || context.holderEnded);
    this.#lookAt(run, cluster, isTimed && this.#deps.now() < context.deadlineAt ? context.deadlineAt : undefined);
    this.#lookAt(run, cluster, lookAt);
    const isKept = context.heldBy !== undefined || (!isFinal && isHeldUp(spoke, context));
    if (isKept || !this.#isStored(run, record, cluster)) return;
    try {
      this.#ask(run, record, cluster);
    } catch (error) {
      this.fail({ upgrade: uid, cluster }, error);
    }
  }

  #observe(run: SpokeJobRun<S, I>, record: TrackedSpoke<S>, cluster: string): { spoke: SpokeObservation; context: StepContext<S> } {
    const { caches, now } = this.#deps;
    const { upgrade, clusters, inputs } = run.request;
    const managed = caches.clusters.get({ name: cluster });
    const { spoke } = reachSpoke(caches, { job: this.job, upgradeUid: upgrade.uid, cluster, transport: this.job.transport, now: now() });
    const { patienceMs, problem } = this.job.workload(inputs, { upgradeUid: upgrade.uid, managed, clusters: clusters.length });
    // A spoke that can begin is claimed by the look at it.
    const holder = record.state === this.job.machine.initial ? this.#claims.take(upgrade.uid, cluster) : undefined;
    const context = {
      job: this.job,
      upgradeUid: upgrade.uid,
      cluster,
      now: now(),
      deadlineAt: (spoke.since ?? record.since) + patienceMs,
      heldBy: holder?.name,
      holderEnded: holder !== undefined && this.#hasEnded(holder, cluster),
      trouble: record.trouble,
      digest: this.job.digest?.(inputs),
      problem: findDenial(managed) ?? problem,
    };
    return { spoke, context };
  }

  /** Whether whoever goes by the stored status would do what is wanted now; a look follows when it is written. */
  #isStored(run: SpokeJobRun<S, I>, record: TrackedSpoke<S>, cluster: string): boolean {
    const { machine, digest } = this.job;
    const { upgrade, inputs } = run.request;
    const stored = storedSpoke(this.job, this.#deps.caches.upgrades.byIndex(BY_UID, upgrade.uid)[0], cluster);
    if (!stored || digest?.(stored.inputs) !== digest?.(inputs)) return false;
    return machine.isFinal(record.state) ? stored.state === record.state : !machine.isFinal(stored.state);
  }

  #mayBegin(uid: string, cluster: string): boolean {
    return this.#runs.get(uid)?.spokes.has(cluster) === true && this.#claims.take(uid, cluster) === undefined;
  }

  #ask(run: SpokeJobRun<S, I>, record: TrackedSpoke<S>, cluster: string): void {
    if (!this.#steps) return;
    const key = this.#keyOf(run.request.upgrade.uid, cluster);
    const observed = observeStep(this.job, this.#deps.caches.upgrades.byIndex(BY_UID, key.upgrade)[0], cluster, this.#observing);
    const plan = observed && planStep(observed.task, { current: observed.state, stored: observed.state }, observed.reach, observed.context);
    const isDue = plan !== undefined && plan.writes.length > 0;
    this.#lookAt(run, cluster, plan?.wakeAt);
    // What a step has written is on its way here: while the spoke looks the same, asking again would have it written twice.
    const versions = this.#versionsOf(cluster);
    const happened = versions !== record.seen;
    record.seen = versions;
    if (!isDue) {
      this.#steps.settle(key);
      return this.#forgive(run, record);
    }
    if (run.isBeginning(record.state) && !this.#beginnings.mayBegin(key)) return;
    const isPaced = this.job.machine.isFinal(record.state) && !run.isSettled();
    if (isPaced) record.cleanAt ??= this.#nextCleaning();
    const { state, cleanAt } = record;
    const what = isPaced ? `${state}, in its turn` : state;
    this.#steps.due(key, { what, happened, priority: this.job.priorities[state], at: isPaced ? cleanAt : undefined });
  }

  /** A spoke that was kept back may begin. */
  #onTurn({ upgrade, cluster }: StepKey): void {
    const run = this.#runs.get(upgrade);
    if (run) this.#look(run, cluster);
  }

  /** What kept a spoke back is over. */
  #forgive(run: SpokeJobRun<S, I>, record: TrackedSpoke<S>): void {
    if (record.trouble === undefined) return;
    if (record.message === record.trouble) record.message = undefined;
    record.trouble = undefined;
    this.#deps.onChange(run.request.upgrade);
  }

  #deadlineOf({ request }: SpokeJobRun<S, I>, record: TrackedSpoke<S>, cluster: string): number {
    const managed = this.#deps.caches.clusters.get({ name: cluster });
    const target = { upgradeUid: request.upgrade.uid, managed, clusters: request.clusters.length };
    return record.since + this.job.workload(request.inputs, target).patienceMs;
  }

  #record(
    run: SpokeJobRun<S, I>,
    cluster: string,
    record: TrackedSpoke<S>,
    seen: { readonly state: S; readonly message: string | undefined },
  ): void {
    const { upgrade } = run.request;
    const isFinal = this.job.machine.isFinal(seen.state);
    // A final state keeps the message its verdict came with.
    const message = isFinal && record.state === seen.state ? record.message : isFinal ? seen.message : (record.trouble ?? seen.message);
    if (record.state === seen.state && record.message === message) return;
    if (record.state !== seen.state) {
      const fields = { work: this.job.work, upgrade: upgrade.name, cluster, from: record.state, to: seen.state };
      this.#deps.logger.debug(fields, 'Job state changed');
    }
    record.state = seen.state;
    record.message = message;
    if (!run.isOnItsWay(seen.state)) this.#beginnings.leave(this.#keyOf(upgrade.uid, cluster));
    if (isFinal) record.progress = undefined;
    this.#deps.onChange(upgrade);
  }

  /** Whoever may be waiting for the cluster looks at it again, and its patience begins now. */
  #wakeWaiting(cluster: string): void {
    for (const run of this.#runs.values()) {
      const record = run.spokes.get(cluster);
      if (record?.state !== this.job.machine.initial) continue;
      record.since = this.#deps.now();
      this.#look(run, cluster);
    }
  }

  /** The holder has its verdict for the cluster, or is no run any more: what holds is what it left there. */
  #hasEnded(holder: Holder, cluster: string): boolean {
    const record = this.#runs.get(holder.uid)?.spokes.get(cluster);
    return !record || this.job.machine.isFinal(record.state);
  }

  #onUpgrade(object: ClusterGroupUpgrade, previous: ClusterGroupUpgrade | undefined): void {
    const run = this.#runs.get(object.metadata.uid ?? '');
    if (!run) return;
    const digestOf = (upgrade: ClusterGroupUpgrade | undefined) => {
      const inputs = upgrade && this.job.inputsIn(upgrade);
      return inputs && (this.job.digest?.(inputs) ?? '');
    };
    const [before, now] = [this.job.statesIn(previous?.status) ?? {}, this.job.statesIn(object.status) ?? {}];
    const isOther = digestOf(previous) !== digestOf(object);
    for (const cluster of run.spokes.keys()) if (isOther || before[cluster] !== now[cluster]) this.#look(run, cluster);
  }

  #onSpoke(change: SpokeChange): void {
    const { upgradeUid, cluster } = change;
    const run = this.#runs.get(upgradeUid);
    const record = run?.spokes.get(cluster);
    if (!run || !record) {
      if (change.kind === 'gone') this.#onGone(upgradeUid, cluster);
      return;
    }
    const isFinal = this.job.machine.isFinal(record.state);
    switch (change.kind) {
      case 'gone':
        // One that is missing too early is created again.
        if (!isFinal) this.#look(run, cluster);
        return this.#onGone(upgradeUid, cluster);
      case 'progress':
        return isFinal ? undefined : this.#onProgress(run, record, change.report);
      case 'done':
        return this.#look(run, cluster);
      case 'begun':
        this.#beginnings.leave(this.#keyOf(upgradeUid, cluster));
        // A job that has just begun has nothing to say yet: while many spokes still wait for theirs, watching it can wait.
        if (run.countBeginning() > MANY_BEGINNING) this.#lookAt(run, cluster, this.#deps.now() + WATCH_DELAY_MS);
        else this.#look(run, cluster);
        return;
      case 'news':
        // A spoke that keeps what has ended is free, too.
        if (!isFinal) this.#look(run, cluster);
        else if (!this.hasHubObjects(upgradeUid, cluster)) this.release(upgradeUid, cluster);
    }
  }

  /** The last object of a spoke that is done, or of an upgrade that is being torn down, frees the spoke; whoever needs its name goes on. */
  #onGone(uid: string, cluster: string): void {
    const record = this.#runs.get(uid)?.spokes.get(cluster);
    const isOver = !record || this.job.machine.isFinal(record.state);
    if (isOver && !this.hasHubObjects(uid, cluster)) this.release(uid, cluster);
    for (const [other, run] of this.#runs) if (other !== uid && run.isUnderWay(cluster)) this.#look(run, cluster);
  }

  #onProgress(run: SpokeJobRun<S, I>, record: TrackedSpoke<S>, report: PullerReport): void {
    const { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } = report;
    const progress = { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } satisfies PrecacheProgress;
    if (isSameJson(progress, record.progress)) return;
    record.progress = progress;
    this.#deps.onChange(run.request.upgrade);
  }

  #lookAt(run: SpokeJobRun<S, I>, cluster: string, at: number | undefined): void {
    this.#steps?.lookAt(this.#keyOf(run.request.upgrade.uid, cluster), at);
  }

  #keyOf(upgrade: string, cluster: string): StepKey {
    return { kind: this.job.work, upgrade, cluster };
  }
}

/** The server's own words: a message in the status is short, and which path was asked helps nobody who reads it there. */
const troubleOf = (error: unknown): string =>
  TROUBLE_PREFIX +
  errorMessage(error)
    .slice(0, 1024)
    .replace(/^[A-Z]{3,6} \/[^ ]{1,600}: (\d{3}: )?/, '');
