import { errorMessage, isSameJson } from '@flotilla/api';
import type { ClusterGroupUpgrade, PrecacheProgress, PullerReport } from '@flotilla/api/ran';
import { isAvailable, type UpgradeIdentity } from '@flotilla/rollout';
import { type Change, type Clock, type Logger, type Metrics, type Reconciler, startReconciler } from '@flotilla/runtime';
import { BY_UID } from '../spokes/port/caches.ts';
import { holdsSpoke, logTransports } from '../spokes/reach.ts';
import { keyId, parseStepKey, type StepKey } from '../steps/step-key.ts';
import type { StepQueue } from '../steps/step-queue.ts';
import { StepRequests } from '../steps/step-requests.ts';
import { describeWrites } from '../writes/apply.ts';
import { Admission } from './admission.ts';
import { createSpokeStep, type SpokeStep, type SpokeStepDeps } from './apply.ts';
import { Claims, type Holder, type Purpose } from './claims.ts';
import { isHeldUp } from './interpret.ts';
import type { JobState, SpokeJob } from './kind.ts';
import { describeStop, troubleOf } from './messages.ts';
import { findUnderWay, isLeft, type ObserveDeps, observeSpoke, observeStep, storedSpoke } from './observe.ts';
import { decide, planStep } from './plan.ts';
import { type RunRequest, SpokeJobRun, type TrackedSpoke } from './run.ts';
import { hasBegun, idOf, watchSpokes } from './watches.ts';

/** Dependencies of `SpokeJobs`. */
interface SpokeJobsDeps extends Omit<SpokeStepDeps, 'mayBegin'> {
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** Receives an upgrade whose status is out of date. */
  readonly onChange: (upgrade: UpgradeIdentity) => void;
  /** Clock of the timers. */
  readonly clock: Clock;
}

/**
 * Runs one kind of job for every upgrade: derives each spoke's state from its observation, and requests a step when the stored status leaves writes.
 * Only the leader has one, and it can rebuild everything in it. Its keys are those of steps.
 */
export class SpokeJobs<S extends JobState, I> {
  readonly job: SpokeJob<S, I>;
  readonly #step: SpokeStep;
  readonly #deps: SpokeJobsDeps;
  readonly #runs = new Map<string, SpokeJobRun<S, I>>();
  readonly #claims: Claims;
  readonly #admission: Admission;
  /** Steps under way in this process, with the uid of their upgrade. */
  readonly #underWay = new Map<Promise<unknown>, string>();
  readonly #mayBegin = (uid: string, cluster: string): boolean =>
    this.#runs.get(uid)?.spokes.has(cluster) === true && this.#claims.claim(uid, cluster) === undefined;
  #requests: StepRequests | undefined;
  #reconciler: Reconciler | undefined;

  constructor(job: SpokeJob<S, I>, deps: SpokeJobsDeps) {
    this.job = job;
    this.#deps = deps;
    const { caches, client, now, clock } = deps;
    this.#step = createSpokeStep(job, { caches, client, now, mayBegin: this.#mayBegin });
    const { initial: idle } = job.machine;
    this.#claims = new Claims(job.work, caches, (uid, cluster) => findUnderWay(job, uid, cluster, { caches, idle })?.metadata.uid);
    this.#admission = new Admission({ clock, onAdmitted: (key) => this.#reconciler?.enqueue(key) });
  }

  /** Starts reconciling and requesting steps of `queue`, until the signal aborts. */
  start(queue: StepQueue, signal: AbortSignal): Pick<Reconciler, 'stopped'> {
    const { caches, clock, logger, metrics } = this.#deps;
    const shared = { clock, logger, signal, ...(metrics && { metrics }) };
    const detach = [
      caches.upgrades.subscribe((change) => this.#follow(change)),
      caches.actions.subscribe(({ type, object }) => {
        if (type === 'set' && hasBegun(this.job, object)) this.#admission.leave(idOf(this.job, object));
      }),
    ];
    const requests = new StepRequests({
      ...shared,
      name: this.job.work,
      queue,
      apply: (key, stepSignal) => this.apply(key, stepSignal),
      onApplied: (key, error) => {
        if (error !== undefined) this.fail(key, errorMessage(error));
      },
    });
    const reconciler = startReconciler({
      ...shared,
      name: `${this.job.work}-spokes`,
      watches: watchSpokes(this.job, caches, this.#runs),
      reconcile: async (text) => {
        const key = parseStepKey(text);
        const requeueAfterMs = key && this.#reconcile(key);
        return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
      },
      onTrouble: async (text, { message }) => {
        const key = parseStepKey(text);
        if (key) this.fail(key, message);
      },
    });
    this.#requests = requests;
    this.#reconciler = reconciler;
    const stop = () => {
      this.#admission.stop();
      for (const each of detach) each();
    };
    signal.addEventListener('abort', stop, { once: true });
    return { stopped: Promise.all([reconciler.stopped, requests.stopped]).then(() => {}) };
  }

  /** Applies one step in the leader's process. A step of an ended run does nothing, unless it cleans what is left. */
  async apply(key: Pick<StepKey, 'upgrade' | 'cluster'>, signal: AbortSignal): Promise<boolean> {
    if (!this.#runs.has(key.upgrade) && !this.#isLeft(key)) return false;
    const applied = this.#step(key, signal);
    this.#underWay.set(applied, key.upgrade);
    try {
      return await applied;
    } finally {
      this.#underWay.delete(applied);
    }
  }

  /** Accepts the request of one reconcile of an upgrade; reconciles changed spokes at once. */
  request(request: RunRequest<S, I>): SpokeJobRun<S, I> {
    const { uid } = request.upgrade;
    const known = this.#runs.get(uid);
    const run = known ?? new SpokeJobRun({ job: this.job, now: this.#deps.now }, request);
    if (!known) {
      this.#runs.set(uid, run);
      logTransports(this.#deps, this.job, request);
      for (const [cluster, record] of run.spokes) if (run.isUnderWay(record)) this.#claims.set(uid, cluster);
    }
    const changed = known ? run.update(request) : [...run.spokes.values()];
    for (const { key } of run.unwanted()) if (!this.hasHubObjects(uid, key.cluster)) this.#forget(uid, key.cluster);
    // Once the last verdict is stored, cleaning delays nobody.
    const hasAllVerdicts = known !== undefined && changed.length > 0 && run.hasAllVerdicts();
    for (const record of hasAllVerdicts ? run.spokes.values() : changed) this.#reconcileNow(record);
    return run;
  }

  /** Takes over the stored states of an upgrade whose jobs have begun: spokes are cleaned only after that. */
  #follow({ type, object }: Change<ClusterGroupUpgrade>): void {
    const run = this.#runs.get(object.metadata.uid ?? '');
    if (run && type === 'set') this.request({ ...run.request, stored: this.job.statesIn(object.status) ?? {} });
  }

  /** Returns an upgrade's run, if any job has begun. */
  run(uid: string): SpokeJobRun<S, I> | undefined {
    return this.#runs.get(uid);
  }

  /**
   * Forgets an upgrade and releases its spokes, which are cleaned by their stored states from then on. Resolves once none of its steps is under way
   * in this process, which could write later.
   */
  async end(uid: string): Promise<void> {
    const run = this.#runs.get(uid);
    this.#runs.delete(uid);
    if (run) this.#requests?.forget(uid);
    for (const [cluster, { id }] of run?.spokes ?? []) {
      this.#forget(uid, cluster);
      this.#reconciler?.enqueue(id);
    }
    await Promise.allSettled([...this.#underWay].flatMap(([step, upgrade]) => (upgrade === uid ? [step] : [])));
  }

  /** Forgets a spoke, and releases it. */
  #forget(uid: string, cluster: string): undefined {
    const id = keyId({ kind: this.job.work, upgrade: uid, cluster });
    this.#runs.get(uid)?.spokes.delete(cluster);
    this.#requests?.forget(uid, cluster);
    this.#reconciler?.forget(id);
    this.#admission.leave(id);
    this.release(uid, cluster);
  }

  /** True while an upgrade's job has objects on the hub, except those that wait for the upgrade's end. */
  hasHubObjects(uid: string, cluster: string): boolean {
    return holdsSpoke(this.#deps.caches, this.job.work, uid, cluster);
  }

  /** Records the error of a spoke's failing steps: the status shows it, and it becomes the verdict at the deadline. */
  fail({ upgrade, cluster }: Pick<StepKey, 'upgrade' | 'cluster'>, message: string): void {
    const record = this.#runs.get(upgrade)?.spokes.get(cluster);
    const trouble = troubleOf(message);
    if (!record || record.trouble === trouble) return;
    record.trouble = trouble;
    this.#record(record, record);
  }

  /** Claims a cluster to clean up after an upgrade, or returns the upgrade that holds it. */
  claim(uid: string, cluster: string, purpose?: Purpose): Holder | undefined {
    return this.#claims.claim(uid, cluster, purpose);
  }

  /** Releases a cluster for other upgrades, if it is claimed for this purpose or not at all. */
  release(uid: string, cluster: string, purpose?: Purpose): void {
    if (this.#claims.release(uid, cluster, purpose)) this.#enqueueWaiting(cluster);
  }

  /** Reconciles a spoke now, and schedules its next reconcile. */
  #reconcileNow({ key, id }: TrackedSpoke<S, I>): void {
    try {
      const afterMs = this.#reconcile(key);
      if (afterMs !== undefined) this.#reconciler?.enqueue(id, { afterMs });
    } catch {
      // One broken spoke must not fail the others: its own reconcile throws and reports the same error.
      this.#reconciler?.enqueue(id);
    }
  }

  /** Returns milliseconds until the next reconcile; undefined: only an event brings the next one. */
  #reconcile(key: StepKey): number | undefined {
    const record = this.#runs.get(key.upgrade)?.spokes.get(key.cluster);
    const at = record ? this.#advance(record) : this.#cleanLeft(key);
    return at === undefined ? undefined : Math.max(at - this.#deps.now(), 0);
  }

  /**
   * Derives a spoke's state from its observation, records it, and requests the writes that the stored status leaves.
   * @returns time of the next reconcile, milliseconds since the epoch
   */
  #advance(record: TrackedSpoke<S, I>): number | undefined {
    const { run, key } = record;
    const { caches, now } = this.#deps;
    const at = now();
    const { paused } = run.request;
    const { machine } = this.job;
    const hasObjects = () => this.hasHubObjects(key.upgrade, key.cluster);
    // Objects of a spoke that has not begun, or was stopped, are a stopped job's. It begins again after them.
    const isStopping = record.state === 'NotStarted' && record.stored === 'NotStarted' && hasObjects();
    if (isStopping || (paused !== undefined && record.state === machine.initial)) return this.#keepBack(record, isStopping);
    // A reconcile claims a spoke that can begin.
    const holder = record.state === machine.initial ? this.#claims.claim(key.upgrade, key.cluster) : undefined;
    const held = holder && { name: holder.name, hasEnded: this.#hasEnded(holder, key.cluster) };
    const { spoke, reach, context } = observeSpoke(this.job, record, held, { caches, now });
    const stops = paused?.stops === true;
    // A stopped job ends by its own verdict or by none: no time-out comes from a pause.
    const decided = decide(record.state, spoke, stops ? { ...context, deadlineAt: Number.POSITIVE_INFINITY } : context);
    const isFinal = machine.isFinal(decided.state);
    if (stops && !isFinal) return this.#stop(record);
    const hasEnded = isFinal && record.state !== decided.state;
    // The report that comes with a verdict has the last word about the nodes.
    if (!isFinal || hasEnded) this.#recordProgress(record, spoke.report);
    this.#record(record, decided);
    if (isFinal && !hasObjects()) this.release(key.upgrade, key.cluster);
    if (hasEnded) this.#enqueueWaiting(key.cluster);
    // Time does not count while another upgrade works on the spoke.
    const isTimed = !isFinal && (holder === undefined || context.holderEnded);
    const times = [decided.requeueAt, isTimed && at < context.deadlineAt ? context.deadlineAt : undefined];
    const isKept = holder !== undefined || (!isFinal && isHeldUp(spoke, context));
    if (!isKept && this.#isStored(record)) times.push(this.#requestStep(key, record, reach));
    const next = Math.min(...times.filter((time) => time !== undefined));
    return Number.isFinite(next) ? next : undefined;
  }

  /** Puts a begun spoke back to its first state. Its objects are removed once that is stored. */
  #stop(record: TrackedSpoke<S, I>): undefined {
    Object.assign(record, { trouble: undefined, progress: undefined });
    this.#admission.leave(record.id);
    this.#record(record, { state: this.job.machine.initial, message: record.run.request.paused?.message });
  }

  /** Keeps a spoke from beginning, and removes what a stopped job left there. */
  #keepBack(record: TrackedSpoke<S, I>, isStopping: boolean): number | undefined {
    const { upgrade: uid, cluster } = record.key;
    const { caches, now } = this.#deps;
    const says = record.run.request.paused?.message;
    const message = isStopping ? describeStop(says, isAvailable(caches.clusters.get({ name: cluster }))) : says;
    this.#record(record, { state: record.state, message });
    record.since = now();
    if (isStopping) return this.#requestStep(record.key, record);
    if (this.#claims.holds(uid, cluster)) this.release(uid, cluster);
    return undefined;
  }

  /** Cleans a spoke that no run has: it had its verdict before this process, or its upgrade has ended and keeps its objects. */
  #cleanLeft(key: StepKey): number | undefined {
    if (!this.hasHubObjects(key.upgrade, key.cluster)) return this.#forget(key.upgrade, key.cluster);
    return this.#isLeft(key) ? this.#requestStep(key) : undefined;
  }

  #isLeft({ upgrade: uid, cluster }: Pick<StepKey, 'upgrade' | 'cluster'>): boolean {
    return isLeft(this.job, this.#deps.caches.upgrades.byIndex(BY_UID, uid)[0], cluster);
  }

  /** True when a step by the stored status would do what the current state requires. A write of the status enqueues the key again. */
  #isStored({ run, key: { upgrade: uid, cluster }, state }: TrackedSpoke<S, I>): boolean {
    const { machine, digest } = this.job;
    const stored = storedSpoke(this.job, this.#deps.caches.upgrades.byIndex(BY_UID, uid)[0], cluster);
    if (!stored || digest?.(stored.inputs, cluster) !== digest?.(run.request.inputs, cluster)) return false;
    return machine.isFinal(state) ? stored.state === state : !machine.isFinal(stored.state);
  }

  /**
   * Requests a step if its plan has writes.
   * @param record absent where no run has the spoke
   * @returns time of the next reconcile, milliseconds since the epoch
   */
  #requestStep(key: StepKey, record?: TrackedSpoke<S, I>, reach?: ObserveDeps['reach']): number | undefined {
    const { caches, now } = this.#deps;
    const [upgrade] = caches.upgrades.byIndex(BY_UID, key.upgrade);
    const observed = observeStep(this.job, upgrade, key.cluster, { caches, now, reach, mayBegin: this.#mayBegin });
    const plan = observed && planStep(observed.task, { current: observed.state, stored: observed.state }, observed.reach, observed.context);
    if (!observed || !plan || plan.writes.length === 0) {
      this.#requests?.done(key);
      if (record) this.#forgive(record);
      return plan?.requeueAt;
    }
    const { state } = record ?? observed;
    const begins = !observed.context.isStopping && record?.run.isBeginning(state);
    if (record && begins && !this.#admission.admit(record.id)) return plan.requeueAt;
    const at = record && this.#cleanAt(record);
    const description = `${state}${at === undefined ? '' : ' scheduled'}: ${describeWrites(plan.writes)}`;
    const afterMs = this.#requests?.request(key, { plan: description, priority: this.job.priorities[state], at }) ?? 0;
    return Math.min(now() + afterMs, plan.requeueAt ?? Number.POSITIVE_INFINITY);
  }

  /** Scheduled time of a spoke's cleaning; undefined once every spoke of its run has its verdict. */
  #cleanAt(record: TrackedSpoke<S, I>): number | undefined {
    if (!this.job.machine.isFinal(record.state) || record.run.hasAllVerdicts()) return undefined;
    record.cleanAt ??= this.#admission.scheduleCleaning();
    return record.cleanAt;
  }

  /** Clears the recorded error of a spoke. */
  #forgive(record: TrackedSpoke<S, I>): void {
    if (record.trouble === undefined) return;
    if (record.message === record.trouble) record.message = undefined;
    record.trouble = undefined;
    this.#deps.onChange(record.run.request.upgrade);
  }

  #record(record: TrackedSpoke<S, I>, next: { readonly state: S; readonly message: string | undefined }): void {
    const { upgrade } = record.run.request;
    const isFinal = this.job.machine.isFinal(next.state);
    // A final state keeps the message of its verdict.
    const message = isFinal && record.state === next.state ? record.message : isFinal ? next.message : (record.trouble ?? next.message);
    if (record.state === next.state && record.message === message) return;
    if (record.state !== next.state) {
      const fields = { work: this.job.work, upgrade: upgrade.name, cluster: record.key.cluster, from: record.state, to: next.state };
      this.#deps.logger.debug(fields, 'Job state changed');
      record.seenAt = this.#deps.now();
    }
    record.state = next.state;
    record.message = message;
    if (!record.run.isOnItsWay(next.state)) this.#admission.leave(record.id);
    if (isFinal) record.progress = undefined;
    this.#deps.onChange(upgrade);
  }

  #recordProgress(record: TrackedSpoke<S, I>, report: PullerReport | undefined): void {
    if (!report) return;
    const { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } = report;
    const progress = { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond } satisfies PrecacheProgress;
    if (isSameJson(progress, record.progress) && isSameJson(report.nodes, record.nodes)) return;
    Object.assign(record, { progress, nodes: report.nodes, seenAt: this.#deps.now() });
    this.#deps.onChange(record.run.request.upgrade);
  }

  /** Reconciles the spokes that wait for the cluster, and restarts their patience. */
  #enqueueWaiting(cluster: string): void {
    for (const run of this.#runs.values()) {
      const record = run.spokes.get(cluster);
      if (record?.state !== this.job.machine.initial) continue;
      record.since = this.#deps.now();
      this.#reconcileNow(record);
    }
  }

  /** True when the holder has a verdict for the cluster or no job: only its leftovers hold the cluster. */
  #hasEnded({ uid, isStored }: Holder, cluster: string): boolean {
    const record = this.#runs.get(uid)?.spokes.get(cluster);
    return record ? this.job.machine.isFinal(record.state) : !isStored;
  }
}
