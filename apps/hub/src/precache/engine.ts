import {
  isFinalPrecacheState,
  Label,
  type ManagedClusterAction,
  type ManagedClusterView,
  PrecacheAction,
  type PrecacheProgress,
  type PrecacheState,
  PrecacheView,
} from '@flotilla/api';
import type { PrecacheStep, StepQueue } from '@flotilla/queues';
import type { Logger } from '@flotilla/runtime';
import { BY_CLUSTER, BY_SPOKE, type PrecacheCaches } from './caches.ts';
import type { EffectDeps } from './effects.ts';
import { type UpgradeIdentity, viewTarget } from './hub-objects.ts';
import { isAvailable, observeSpoke, readAnswer, readReport } from './observe.ts';
import { PrecacheRun, type RunRequest, type SpokeRecord } from './run.ts';
import { spokeRuntime } from './spoke-runtime.ts';
import { runStep, type StepOutcome } from './step.ts';

export interface EngineDeps extends EffectDeps {
  readonly caches: PrecacheCaches;
  readonly logger: Logger;
  /** Told whenever what the status of an upgrade should say has changed. */
  readonly onChange: (upgrade: UpgradeIdentity) => void;
}

/**
 * Work nearest the pull goes first: a spoke that can get its job now, then one that can begin. A spoke that has its job needs the
 * hub for nothing but being watched, and cleaning up has all the time there is.
 */
const priorities: Record<PrecacheState, number> = {
  PreparingToStart: 1,
  NotStarted: 2,
  Starting: 3,
  Active: 4,
  Succeeded: 5,
  PrecacheTimeout: 5,
  UnrecoverableError: 5,
};

/** While others pull, one spoke is cleaned every so many milliseconds: a dozen deletions each, that must not delay a verdict. */
const CLEANING_PACE_MS = 200;
/** So many spokes are cleaned at once after a pause. */
const CLEANING_BURST = 20;

/** From so many spokes without a job on, those that have one wait this long until they are watched; a pull takes minutes. */
const MANY_BEGINNING = 50;
const WATCH_DELAY_MS = 10_000;

/** Actions whose end moves a spoke on; the end of the others is seen when these end. */
const decisive: ReadonlySet<string> = new Set([
  PrecacheAction.createJob,
  PrecacheAction.deleteNamespace,
  PrecacheAction.deleteClusterRoleBinding,
]);

/** Runs every upgrade's pre-caching: turns watch events into steps, and steps into what the status says. */
export class PrecacheEngine {
  readonly #deps: EngineDeps;
  readonly #runs = new Map<string, PrecacheRun>();
  /** Upgrade uid that works on a cluster now. */
  readonly #claims = new Map<string, string>();
  #queue: StepQueue<PrecacheStep> | undefined;
  /** Turn of the spoke to be cleaned last, milliseconds since the epoch. */
  #cleaningAt = 0;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
  }

  /** Begins to wake steps on `queue`, whose processor is `this.process` and whose outcomes go to `this.settle`. */
  start(queue: StepQueue<PrecacheStep>): void {
    this.#queue = queue;
    const { views, actions, clusters } = this.#deps.caches;
    views.subscribe(({ type, object }) => this.#onView(type, object));
    actions.subscribe(({ type, object }) => this.#onAction(type, object));
    clusters.subscribe(({ object, previous }) => {
      if (!previous || isAvailable(object) !== isAvailable(previous)) this.#wakeCluster(object.metadata.name);
    });
  }

  /** Takes what one pass of the reconciler wants; wakes the spokes it concerns. */
  request(request: RunRequest): PrecacheRun {
    const { uid } = request.upgrade;
    const run = this.#runs.get(uid);
    if (run) {
      const changed = run.take(request);
      // With the last verdict stored nobody is left whom cleaning could delay.
      if (changed.length > 0 && run.isSettled()) this.#cleanAll(run);
      else for (const cluster of changed) this.#begin(run, cluster);
      return run;
    }
    const begun = new PrecacheRun(request);
    this.#runs.set(uid, begun);
    for (const cluster of begun.spokes.keys()) {
      if (begun.isUnderWay(cluster)) this.#claims.set(cluster, uid);
      this.#begin(begun, cluster);
    }
    return begun;
  }

  /** What is known of an upgrade's pre-caching, if it has begun. */
  run(uid: string): PrecacheRun | undefined {
    return this.#runs.get(uid);
  }

  /** Forgets an upgrade, and lets others have its spokes. */
  end(uid: string): void {
    const run = this.#runs.get(uid);
    if (!run) return;
    this.#runs.delete(uid);
    for (const cluster of run.spokes.keys()) {
      this.#queue?.forget({ upgrade: run.request.upgrade, cluster });
      this.#release(uid, cluster);
    }
  }

  /** True while anything of an upgrade's pre-caching is left on the hub. */
  hasHubObjects(uid: string, cluster: string): boolean {
    const { views, actions } = this.#deps.caches;
    const key = `${uid}/${cluster}`;
    return views.byIndex(BY_SPOKE, key).length > 0 || actions.byIndex(BY_SPOKE, key).length > 0;
  }

  /** One step of one spoke; the processor of the queue. */
  readonly process = async ({ upgrade, cluster }: PrecacheStep): Promise<StepOutcome | undefined> => {
    const run = this.#runs.get(upgrade.uid);
    const record = run?.spokes.get(cluster);
    if (!run || !record) return undefined;
    const { caches, settings } = this.#deps;
    const { spec, image, profile, jobSeconds } = run.request;
    const managed = caches.clusters.get({ name: cluster });
    const key = `${upgrade.uid}/${cluster}`;
    const spoke = observeSpoke(upgrade.uid, managed, caches.views.byIndex(BY_SPOKE, key), caches.actions.byIndex(BY_SPOKE, key));
    const heldBy = record.state === 'NotStarted' ? this.#claim(upgrade.uid, cluster) : undefined;
    const inputs = {
      upgradeUid: upgrade.uid,
      spec,
      image,
      profile,
      deadlineSeconds: jobSeconds,
      runtime: spokeRuntime(managed),
      registryConfig: settings.registryConfig,
    };
    // The clock of a spoke starts with its first view: time spent waiting for another upgrade does not count.
    const startedAt = Math.min(
      ...[spoke.namespaceView, spoke.jobView].map((view) => (view?.ours ? view.createdAt : Number.POSITIVE_INFINITY)),
    );
    const patienceMs = jobSeconds * 1000 + settings.graceMs;
    const context = { upgradeUid: upgrade.uid, now: this.#deps.now(), deadlineAt: startedAt + patienceMs, patienceMs, heldBy };
    // Each change of progress is a write on the hub: many spokes report more rarely, so that all together stay within 50 a second.
    const progressViewSeconds = Math.max(settings.progressViewSeconds, Math.ceil(run.request.clusters.length / 50));
    return runStep(
      { upgrade, cluster, inputs, progressViewSeconds },
      { current: record.state, stored: record.stored },
      spoke,
      context,
      this.#deps,
    );
  };

  /** Takes the outcome of a step over into what this process knows. */
  settle(step: PrecacheStep, outcome: StepOutcome | undefined): void {
    const run = this.#runs.get(step.upgrade.uid);
    const record = run?.spokes.get(step.cluster);
    if (!run || !record || !outcome) return;
    if (outcome.wakeAt !== undefined) this.#queue?.wakeAt(step, outcome.wakeAt, { priority: priorities[outcome.state] });
    const final = isFinalPrecacheState(outcome.state);
    if (final && !this.hasHubObjects(step.upgrade.uid, step.cluster)) this.#release(step.upgrade.uid, step.cluster);
    // A final state keeps the message its verdict came with.
    const message = final && record.state === outcome.state ? record.message : outcome.message;
    if (record.state === outcome.state && record.message === message) return;
    if (record.state !== outcome.state)
      this.#deps.logger.debug(
        { upgrade: step.upgrade.name, cluster: step.cluster, from: record.state, to: outcome.state },
        'Pre-cache state changed',
      );
    Object.assign(record, { state: outcome.state, message } satisfies Partial<SpokeRecord>);
    if (final) record.progress = undefined;
    this.#deps.onChange(run.request.upgrade);
  }

  /** The upgrade that holds a cluster, if it is another one; else takes the cluster for this one. */
  #claim(uid: string, cluster: string): string | undefined {
    const holder = this.#claims.get(cluster) ?? this.#ownerOfObjects(cluster, uid);
    if (holder === undefined || holder === uid) {
      this.#claims.set(cluster, uid);
      return undefined;
    }
    const upgrade = this.#deps.caches.upgrades.list().find(({ metadata }) => metadata.uid === holder);
    return upgrade ? `${upgrade.metadata.namespace}/${upgrade.metadata.name}` : 'that is being deleted';
  }

  /** Another living upgrade whose objects are in the cluster's namespace: it was there before this process was. */
  #ownerOfObjects(cluster: string, uid: string): string | undefined {
    const { views, actions, upgrades } = this.#deps.caches;
    const owners = new Set(
      [...views.byIndex(BY_CLUSTER, cluster), ...actions.byIndex(BY_CLUSTER, cluster)].map((o) => o.metadata.labels?.[Label.upgradeUid]),
    );
    owners.delete(uid);
    if (owners.size === 0) return undefined;
    return upgrades.list().find(({ metadata }) => metadata.uid !== undefined && owners.has(metadata.uid))?.metadata.uid;
  }

  /** Lets another upgrade have a cluster. One without a claim may have held it by its objects alone: it was there before this process. */
  #release(uid: string, cluster: string): void {
    if ((this.#claims.get(cluster) ?? uid) !== uid) return;
    this.#claims.delete(cluster);
    for (const run of this.#runs.values()) if (run.spokes.get(cluster)?.state === 'NotStarted') this.#wake(run, cluster);
  }

  #onView(type: 'set' | 'deleted', view: ManagedClusterView): void {
    const found = this.#find(view);
    if (!found) return this.#onForeign(type, view);
    if (type === 'set' && view.metadata.name === PrecacheView.progress) return this.#onProgress(found.run, found.record, view);
    if (type === 'deleted') return this.#onDeleted(found.run, found.record, found.cluster);
    if (view.status?.conditions && !isFinalPrecacheState(found.record.state)) this.#wake(found.run, found.cluster);
  }

  #onAction(type: 'set' | 'deleted', action: ManagedClusterAction): void {
    const found = this.#find(action);
    if (!found) return this.#onForeign(type, action);
    if (type === 'deleted') return this.#onDeleted(found.run, found.record, found.cluster);
    const condition = action.status?.conditions?.[0];
    if (condition?.status === 'True' && action.metadata.name === PrecacheAction.createJob)
      return this.#onJobCreated(found.run, found.cluster);
    if (condition && (condition.status === 'False' || decisive.has(action.metadata.name))) this.#wake(found.run, found.cluster);
  }

  /** A job that has just begun has nothing to say yet: while many spokes still wait for theirs, watching it can wait. */
  #onJobCreated(run: PrecacheRun, cluster: string): void {
    if (run.countBeginning() <= MANY_BEGINNING) return this.#wake(run, cluster);
    const { upgrade } = run.request;
    this.#queue?.wakeAt({ upgrade, cluster }, this.#deps.now() + WATCH_DELAY_MS, { priority: priorities.Starting });
  }

  /** The last object of a spoke that is done frees the spoke; one that is missing too early is created again. */
  #onDeleted(run: PrecacheRun, record: SpokeRecord, cluster: string): void {
    if (!isFinalPrecacheState(record.state)) return this.#wake(run, cluster);
    const { uid } = run.request.upgrade;
    if (!this.hasHubObjects(uid, cluster)) this.#release(uid, cluster);
  }

  /** An object of an upgrade that is being torn down: the last one frees the spoke. */
  #onForeign(type: 'set' | 'deleted', { metadata }: ManagedClusterView | ManagedClusterAction): void {
    const [uid, cluster] = [metadata.labels?.[Label.upgradeUid] ?? '', metadata.namespace ?? ''];
    if (type === 'deleted' && !this.hasHubObjects(uid, cluster)) this.#release(uid, cluster);
  }

  #onProgress(run: PrecacheRun, record: SpokeRecord, view: ManagedClusterView): void {
    const report = readReport(readAnswer(view, viewTarget.progress));
    if (!report || isFinalPrecacheState(record.state)) return;
    const { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } = report;
    record.progress = { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } satisfies PrecacheProgress;
    this.#deps.onChange(run.request.upgrade);
  }

  #find({ metadata }: ManagedClusterView | ManagedClusterAction) {
    const run = this.#runs.get(metadata.labels?.[Label.upgradeUid] ?? '');
    const cluster = metadata.namespace ?? '';
    const record = run?.spokes.get(cluster);
    return run && record ? { run, record, cluster } : undefined;
  }

  /** Wakes a spoke that is new or whose verdict was just stored: the first at once, the second when its turn to be cleaned comes. */
  #begin(run: PrecacheRun, cluster: string): void {
    const state = run.spokes.get(cluster)?.state ?? 'NotStarted';
    if (!isFinalPrecacheState(state)) return this.#wake(run, cluster);
    this.#cleaningAt = Math.max(this.#cleaningAt + CLEANING_PACE_MS, this.#deps.now() - CLEANING_BURST * CLEANING_PACE_MS);
    this.#queue?.wakeAt({ upgrade: run.request.upgrade, cluster }, this.#cleaningAt, { priority: priorities[state] });
  }

  #cleanAll(run: PrecacheRun): void {
    for (const cluster of run.spokes.keys()) if (this.hasHubObjects(run.request.upgrade.uid, cluster)) this.#wake(run, cluster);
  }

  #wakeCluster(cluster: string): void {
    for (const run of this.#runs.values()) if (run.spokes.has(cluster)) this.#wake(run, cluster);
  }

  #wake(run: PrecacheRun, cluster: string): void {
    const state = run.spokes.get(cluster)?.state ?? 'NotStarted';
    void this.#queue?.wake({ upgrade: run.request.upgrade, cluster }, { priority: priorities[state] });
  }
}
