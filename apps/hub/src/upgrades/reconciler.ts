import { limitsOf, refKey, refOfKey } from '@flotilla/api';
import { CLEANUP_FINALIZER, type ClusterGroupUpgrade, ClusterGroupUpgradeSpec, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { ValidationFacts } from '@flotilla/rollout';
import {
  advanceRollout,
  batchGatesOf,
  deferRestored,
  eventsBetween,
  FirstSeen,
  findRetry,
  type GateInput,
  isOpenToMembers,
  isRunning,
  isTurningPoint,
  joinRollout,
  judgeBatchGates,
  judgeBlocking,
  judgeGates,
  keepsObjects,
  type ObservedUpgrade,
  PlacementPatience,
  type PlanDeps,
  planUpgrade,
  type RolloutObservation,
  readSoak,
  remainingClusters,
  retryInRollout,
  selectPresent,
  startRollout,
  stateBeforeStart,
  stateOf,
  type UpgradePlan,
} from '@flotilla/rollout';
import type { Client, EventRecorder, Logger, ReconcileResult } from '@flotilla/runtime';
import type { RolloutCaches } from '../spoke-rollouts/caches.ts';
import type { SpokeRollouts } from '../spoke-rollouts/reconciler.ts';
import type { SpokeJobCaches } from '../spokes/port/caches.ts';
import { tenancyOf } from '../tenancy-caches.ts';
import { writeFinalizer, writeStatus } from './apply.ts';
import { askBefore, askNow, findUnproven } from './cache-proofs.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type { Teardowns, UpgradeJobs } from './jobs.ts';
import { observeUpgrade, type UpgradeCaches } from './observe.ts';
import { observeRollout } from './observe-rollout.ts';
import {
  describeCleaning,
  describeEnd,
  describeLatePulls,
  describePreparation,
  describeProofs,
  describeRollout,
  describeUnreadable,
  type PrecachingReport,
} from './status.ts';
import { type News, newsOf, pauseAfter, sizeOf } from './status-pace.ts';
import { withSummary } from './status-summary.ts';
import { withWaits } from './status-waits.ts';

/** Dependencies of `UpgradeReconciler`. */
interface ReconcilerDeps extends PlanDeps {
  readonly client: Client;
  readonly caches: UpgradeCaches & SpokeJobCaches & RolloutCaches;
  readonly rollout: Pick<SpokeRollouts, 'isClean' | 'problem' | 'problems'>;
  readonly jobs: Pick<UpgradeJobs, 'precache' | 'nextProofs' | 'backUp' | 'precacheLate' | 'noteStored' | 'end' | 'teardowns' | 'tearDown'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly now: () => number;
  readonly logger: Logger;
}

/** Plans each upgrade at most once a second. The status is written as often as its size allows; turning points of a batch are written at once. */
const PASS_INTERVAL_MS = 1000;
/** Milliseconds between two reconciles of a rollout whose status write is delayed: a turning point ends the delay. */
const RUNNING_INTERVAL_MS = 200;
/** Milliseconds that the end of an upgrade waits for spokes, from this process's first attempt; it always waits for the hub. */
const SPOKE_PATIENCE_MS = 60_000;
/** Milliseconds until the hub is checked again without events. */
const CLEAN_RECHECK_MS = 5000;

/** Finds values beyond the CRD's limits: older CRDs and other vendors' have none. */
const findExcess = limitsOf(ClusterGroupUpgradeSpec);

/** Result of a pass. */
interface PassResult {
  readonly status: ClusterGroupUpgradeStatus;
  /** Milliseconds since the epoch. */
  readonly wakeAt: number | undefined;
  /** Facts for events. */
  readonly facts?: ValidationFacts;
  /** Since when clusters that were complete do not comply. */
  readonly fallenSince?: ReadonlyMap<string, number>;
}

/** Memory of one upgrade in this process; all of it can be rebuilt. */
interface Memory {
  uid: string;
  writtenAt: number;
  /** Bytes of the last written status. */
  writtenBytes: number;
  /** Time of the last pass before the start. */
  preparedAt?: number | undefined;
  /** Time of the last pass of the rollout. */
  advancedAt?: number;
  teardowns?: Teardowns;
  /** Start of the clean-up in this process. */
  cleaningSince?: number | undefined;
}

/**
 * Reconciles ClusterGroupUpgrades in this order: gone, deleting, finalizer, ended, running; otherwise plan, jobs, gates and start; status last. It is
 * the only writer of their status.
 */
export class UpgradeReconciler {
  readonly #deps: ReconcilerDeps;
  readonly #memory = new Map<string, Memory>();
  readonly #patience = new PlacementPatience();
  readonly #firstSeen = new FirstSeen();
  /** Fields that the server drops, of any upgrade: upgrades share a CRD. */
  readonly #kept: { dropped: DroppedFields } = { dropped: {} };

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
  }

  /** @param key `namespace/name` */
  async reconcile(key: string): Promise<ReconcileResult> {
    const upgrade = this.#deps.caches.upgrades.get(refOfKey(key));
    if (!upgrade) {
      this.#forget(key);
      return {};
    }
    const memory = this.#remember(key, upgrade);
    if (upgrade.metadata.deletionTimestamp) return this.#finalize(upgrade, memory);
    if (!upgrade.metadata.finalizers?.includes(CLEANUP_FINALIZER)) {
      await writeFinalizer(upgrade, true, this.#deps.client);
      return {};
    }
    const state = stateOf(upgrade);
    if (state === 'cleaned') return this.#noteGeneration(upgrade, memory);
    if (state === 'ended') return this.#complete(upgrade, memory);
    // The inputs of a waiting upgrade's plan can change a thousand times a second during other rollouts.
    const waitMs = isRunning(upgrade)
      ? this.#leftOf(RUNNING_INTERVAL_MS, memory.advancedAt)
      : Math.max(this.#pauseLeft(memory, 'states'), this.#leftOf(PASS_INTERVAL_MS, memory.preparedAt));
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    return this.#advance(upgrade, memory);
  }

  /** Milliseconds left of a pause. A start in the future predates a step back of the clock. */
  #leftOf(pauseMs: number, since = Number.NEGATIVE_INFINITY): number {
    const now = this.#deps.now();
    return since > now ? 0 : Math.max(since + pauseMs - now, 0);
  }

  /** Milliseconds left of the pause after the last write, for such news. */
  #pauseLeft({ writtenAt, writtenBytes }: Memory, news: News): number {
    return this.#leftOf(pauseAfter(writtenBytes, news), writtenAt);
  }

  async #advance(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    const spec = ClusterGroupUpgradeSpec.safeParse(upgrade.spec ?? {});
    const found = findExcess(upgrade.spec);
    // The reference validates its other limits itself.
    const excess = this.#deps.talmStrict && found?.isValue ? undefined : found;
    if (!spec.success || excess) {
      const issues = spec.error?.issues ?? (excess ? [excess] : []);
      await this.#write(
        upgrade,
        describeUnreadable(upgrade, issues, { now: new Date(this.#deps.now()), talmStrict: this.#deps.talmStrict }),
        memory,
      );
      return {};
    }
    const running = isRunning(upgrade);
    if (running) {
      memory.advancedAt = this.#deps.now();
    } else memory.preparedAt = this.#deps.now();
    const result = running ? this.#rollOut(upgrade, spec.data) : this.#prepare(upgrade, spec.data);
    if (!result) {
      // The pass after the policies are read replaces this one.
      memory.preparedAt = undefined;
      return {};
    }
    const { wakeAt, facts, fallenSince } = result;
    const status = { ...result.status, waits: upgrade.status?.waits };
    const again = (at: number | undefined) => (at === undefined ? {} : { requeueAfterMs: Math.max(at - this.#deps.now(), 0) });
    const pauseMs = this.#pauseLeft(memory, newsOf(upgrade.status, status));
    if (pauseMs > 0 && !isTurningPoint(upgrade.status ?? { status: {} }, status))
      return again(earliest(this.#deps.now() + pauseMs, wakeAt));
    const { caches, now } = this.#deps;
    await this.#write(upgrade, withWaits(upgrade, status, { caches, fallenSince, now: now() }), memory, facts);
    return again(wakeAt);
  }

  /** Prepares an upgrade, and starts its rollout once no gate refuses. Undefined while its policies are read. */
  #prepare(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec): PassResult | undefined {
    const { caches, jobs, now, talmStrict } = this.#deps;
    const observed = observeUpgrade(upgrade, caches);
    const plan = planUpgrade(observed, spec, this.#deps);
    if (plan.stopped === 'policyReading') return undefined;
    // Pre-caching has its say in the states of the clusters.
    const asked = askBefore(upgrade, plan, {
      now: now(),
      talmStrict,
      refusal: judgeGates(this.#gateInput(upgrade, spec, plan, undefined, observed)),
    });
    const precaching = jobs.precache(upgrade, spec, plan, asked?.ask);
    const gates = this.#gateInput(upgrade, spec, plan, precaching, observed);
    const backup = jobs.backUp(upgrade, gates);
    const final = { ...gates, backup: backup?.rollUp };
    const refusal = plan.stopped === undefined ? judgeGates(final) : undefined;
    const status = describePreparation({ upgrade, plan, precaching, backup, refusal, talmStrict, now: new Date(now()) });
    const recheckAt = plan.recheckAfterMs === undefined ? undefined : now() + plan.recheckAfterMs;
    if (stateBeforeStart({ isPlanned: plan.stopped === undefined, refusal }) !== 'preparing') {
      const facts = { missingClusters: plan.selection.failure?.missing };
      return { status, wakeAt: earliest(recheckAt, refusal?.wakeAt, asked?.wakeAt), facts };
    }
    this.#warnOfSoaks(upgrade, plan);
    const { canaries, maxConcurrency } = spec.remediationStrategy;
    const { isCompliant, compliant } = plan;
    const started = startRollout(status, {
      clusters: remainingClusters(final),
      compliant,
      isCompliant,
      canaries,
      maxConcurrency,
      now: now(),
      talmStrict,
    });
    return this.#rollOut({ ...upgrade, status: started }, spec);
  }

  #warnOfSoaks(upgrade: ClusterGroupUpgrade, plan: UpgradePlan): void {
    for (const { policy } of plan.policies.forUpgrade) {
      const { problem } = readSoak(policy);
      if (problem !== undefined) this.#deps.logger.warn({ upgrade: refKey(upgrade.metadata), reason: problem }, 'Soak is left out');
    }
  }

  /** Advances a started rollout by its status and observation alone. */
  #rollOut(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec): PassResult {
    const { caches, jobs, now, rollout, talmStrict } = this.#deps;
    const at = now();
    const retry = talmStrict ? undefined : findRetry(upgrade);
    const stored = upgrade.status ?? { status: {} };
    const gates = batchGatesOf(upgrade, { now: at, talmStrict });
    const asked = askNow(upgrade, { now: at, talmStrict, refusal: judgeBatchGates(gates) });
    const proofs = asked && jobs.nextProofs(upgrade, asked.ask);
    const problem = (cluster: string | undefined) => rollout.problem(upgrade, cluster);
    const observation = observeRollout(upgrade, caches, {
      problem,
      unproven: proofs && ((cluster) => findUnproven(cluster, { ...proofs, states: stored.precaching?.status ?? {} }, asked.ask)),
      patience: this.#patience,
      sightings: this.#firstSeen.pass(upgrade.metadata.uid ?? '', at),
      talmStrict,
      tenancy: tenancyOf(upgrade.metadata.namespace ?? '', caches),
      now: at,
    });
    const joined = talmStrict || !isOpenToMembers(upgrade) ? stored : this.#join(upgrade, spec, stored, observation);
    const retried = retry ? retryInRollout(joined, retry) : joined;
    const isRestored = (cluster: string): boolean => proofs?.byCluster.get(cluster)?.kind === 'pull';
    const next = deferRestored(retried, isRestored, spec.remediationStrategy.canaries);
    const late = jobs.precacheLate(upgrade, next, proofs);
    const status = describeLatePulls(next, late.pulls);
    const advance = advanceRollout({ spec, status, observation, gates, now: at });
    const described = describeRollout(status, advance, {
      now: new Date(at),
      talmStrict,
      pause: gates.pause,
      precaching: late.pulls?.rollUp,
      generation: talmStrict ? undefined : upgrade.metadata.generation,
    });
    return {
      status: describeProofs(described, late.proofs),
      wakeAt: earliest(advance.wakeAt, observation.lookAt, asked?.wakeAt, late.proofs?.isNews ? at + PASS_INTERVAL_MS : undefined),
      fallenSince: advance.fallenSince,
    };
  }

  /** The status with the clusters that are selected since the start. */
  #join(
    upgrade: ClusterGroupUpgrade,
    spec: ClusterGroupUpgradeSpec,
    status: ClusterGroupUpgradeStatus,
    { mode, exists }: RolloutObservation,
  ): ClusterGroupUpgradeStatus {
    const { upgradeAt, managed, tenancy } = observeUpgrade(upgrade, this.#deps.caches);
    const { eligible } = judgeBlocking(upgrade, upgradeAt);
    return joinRollout(status, { selected: selectPresent(spec, managed, tenancy), eligible, mode, exists, preCaching: spec.preCaching });
  }

  #gateInput(
    upgrade: ClusterGroupUpgrade,
    spec: ClusterGroupUpgradeSpec,
    plan: UpgradePlan,
    precaching: PrecachingReport | undefined,
    observed: ObservedUpgrade,
  ): GateInput {
    return {
      ...batchGatesOf(upgrade, { now: this.#deps.now(), talmStrict: this.#deps.talmStrict }),
      enabled: spec.enable,
      canaries: spec.remediationStrategy.canaries ?? [],
      planned: plan.batches.flat(),
      precaching: precaching?.rollUp,
      blocking: judgeBlocking(upgrade, observed.upgradeAt),
      wantsBackup: spec.backup && plan.batches.length > 0,
      backup: undefined,
    };
  }

  async #finalize(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    if (!upgrade.metadata.finalizers?.includes(CLEANUP_FINALIZER)) return {};
    const again = await this.#cleanUp(upgrade, memory);
    if (again) return this.#describeCleaning(upgrade, memory, again);
    await writeFinalizer(upgrade, false, this.#deps.client);
    return {};
  }

  /** Writes `completedAt` after the verdict, once the clean-up is done (spec/talm 2.4, 2.14). */
  async #complete(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    const again = await this.#cleanUp(upgrade, memory);
    if (again) return this.#describeCleaning(upgrade, memory, again);
    await this.#write(upgrade, describeEnd(upgrade, new Date(this.#deps.now())), memory);
    return {};
  }

  /** An edit after the end changes nothing; a tool that compares generations would wait for ever unless the status says that it was seen. */
  async #noteGeneration(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    const { metadata, status } = upgrade;
    if (status?.observedGeneration === undefined || status.observedGeneration === metadata.generation) return {};
    await this.#write(upgrade, { ...status, observedGeneration: metadata.generation }, memory);
    return {};
  }

  /**
   * Removes the objects that the upgrade does not keep. Returns undefined once done, else the time of the next try. It waits for spokes only for a
   * while, because one may stay away. Hub objects enforce policies and run on spokes, so they must go at any time.
   */
  async #cleanUp(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult | undefined> {
    const { jobs, rollout, now } = this.#deps;
    // A clock that stepped back restarts the wait.
    memory.cleaningSince = Math.min(memory.cleaningSince ?? now(), now());
    const leftMs = memory.cleaningSince + SPOKE_PATIENCE_MS - now();
    const isLate = leftMs <= 0;
    memory.teardowns ??= jobs.teardowns(upgrade);
    const areSpokesClean = keepsObjects(upgrade) || (await jobs.tearDown(memory.teardowns, upgrade, isLate));
    if (areSpokesClean && rollout.isClean(upgrade, { leavingCounts: !isLate })) {
      memory.cleaningSince = undefined;
      return undefined;
    }
    return { requeueAfterMs: isLate ? CLEAN_RECHECK_MS : Math.max(leftMs, 1000) };
  }

  /** Reports the problems of the clean-up as long as they last. */
  async #describeCleaning(upgrade: ClusterGroupUpgrade, memory: Memory, again: ReconcileResult): Promise<ReconcileResult> {
    const waitMs = this.#pauseLeft(memory, 'states');
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await this.#write(upgrade, describeCleaning(upgrade, this.#deps.rollout.problems(upgrade)), memory);
    return again;
  }

  /** Writes the status once, and records its events. */
  async #write(
    upgrade: ClusterGroupUpgrade,
    desired: ClusterGroupUpgradeStatus,
    memory: Memory,
    facts: ValidationFacts = {},
  ): Promise<void> {
    const written = await writeStatus(upgrade, withSummary(upgrade, desired), { client: this.#deps.client, kept: this.#kept });
    if (!written) return;
    memory.writtenAt = this.#deps.now();
    memory.writtenBytes = sizeOf(written.status);
    this.#deps.caches.upgrades.wrote(written);
    const { jobs, recorder } = this.#deps;
    jobs.noteStored(upgrade.metadata.uid ?? '', written.status);
    for (const event of eventsBetween(upgrade.status, written.status ?? { status: {} }, written, facts)) recorder.record(event);
  }

  #remember(key: string, upgrade: ClusterGroupUpgrade): Memory {
    const uid = upgrade.metadata.uid ?? '';
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    if (known) this.#deps.jobs.end(known.uid);
    const memory: Memory = { uid, writtenAt: 0, writtenBytes: 0 };
    this.#memory.set(key, memory);
    return memory;
  }

  #forget(key: string): void {
    const memory = this.#memory.get(key);
    if (memory) {
      this.#deps.jobs.end(memory.uid);
      this.#patience.forget(memory.uid);
      this.#firstSeen.forget(memory.uid);
    }
    this.#memory.delete(key);
  }
}

const earliest = (...times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};
