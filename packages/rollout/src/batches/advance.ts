/**
 * A running rollout, one pass (spec/talm 2.10, 2.11): from the stored status and what is observed to the next status. Pure, and as far
 * as the machine leads: a batch that has ended hands over to the next in the same pass.
 */

import type { ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { waitForMembers } from '../clusters/returning.ts';
import { type BatchGateInput, judgeBatchGates, type Refusal, type Stall } from '../gates/gates.ts';
import { describeLost, lostClusters } from '../upgrade/lost-clusters.ts';
import { type ClusterRecord, RecordState, type RolloutObservation, type Verdict } from '../upgrade/model.ts';
import { nextRolloutState, type RolloutLook, type RolloutState, runningState } from '../upgrade/stage.ts';
import {
  allCompleted,
  alreadyCompliant,
  describeProblems,
  failed,
  fellBack,
  inProgress,
  leftBehind,
  type Outcome,
  partlyDone,
  stoppedBySurplus,
  tookTooLong,
  waitingForPlacement,
} from '../upgrade/texts.ts';
import { WHOLE_UPGRADE, waitMessage, withSince } from '../waits/wait.ts';
import { firstOpen, firstPending } from './cluster-machine.ts';
import { ClustersUnderWay } from './clusters-under-way.ts';
import { chooseAgain, type Drift, findDrift, toldAt } from './drift.ts';
import { judgeLate } from './late-clusters.ts';
import { RolloutClock } from './rollout-clock.ts';

/** Everything a pass looks at. */
export interface AdvanceInput {
  readonly spec: Pick<ClusterGroupUpgradeSpec, 'remediationStrategy' | 'batchTimeoutAction'>;
  /** Status of an upgrade whose rollout has started. */
  readonly status: ClusterGroupUpgradeStatus;
  readonly observation: RolloutObservation;
  readonly gates: BatchGateInput;
  readonly now: number;
  /** Why a batch (from 1) is not filled yet, where batches are filled with clusters that are ready. */
  readonly wave?: ((batch: number) => Refusal | undefined) | undefined;
  /** Take a rollout for a success that the reference takes for one. */
  readonly talmStrict: boolean;
}

/** Status after the pass, and the verdicts for its conditions. */
export interface Advance {
  readonly status: ClusterGroupUpgradeStatus['status'];
  readonly clusters: readonly ClusterRecord[];
  /** Problems that keep clusters under way from getting on, by cluster. */
  readonly messages: Readonly<Record<string, string>>;
  /** Since when clusters that were complete do not comply, milliseconds since the epoch, where this process has seen it. */
  readonly fallenSince: ReadonlyMap<string, number>;
  readonly progressing: Verdict;
  /** The next batch waits for somebody. */
  readonly stall?: Stall | undefined;
  /** Set when the rollout has ended. */
  readonly succeeded: Verdict | undefined;
  /** When to look again even if nothing changes, epoch milliseconds. */
  readonly wakeAt: number | undefined;
}

/** One pass over a running rollout. */
export function advanceRollout(input: AdvanceInput): Advance {
  return new Pass(input).run();
}

/** Interval at which last edits are looked for after the deadline, even if nothing happens. */
const EDIT_RECHECK_MS = 1000;

/** The status under construction. */
class Pass {
  readonly #input: AdvanceInput;
  readonly #clusters: ClustersUnderWay;
  readonly #clock: RolloutClock;
  /** Deadline of the whole rollout, milliseconds since the epoch. */
  readonly #deadline: number;
  #state: RolloutState;
  #refusal: Refusal | undefined;
  #verdict: Outcome | undefined;
  /** Clusters that the end waits for. */
  #left: readonly string[] = [];
  /** Clusters that were complete and comply no more. */
  #drift: readonly Drift[];
  #wakeAt = Number.POSITIVE_INFINITY;
  /** Looks by the state of the upgrade; each moves on the part that it looks at. */
  readonly #looks: Partial<Record<RolloutState, () => RolloutLook>> = {
    gated: () => this.#askGates(),
    preparing: () => this.#prepare(),
    batch: () => this.#runBatch(),
    lookingBack: () => this.#lookBack(),
  };

  constructor(input: AdvanceInput) {
    const { status, spec, gates, now } = input;
    this.#input = input;
    this.#clusters = new ClustersUnderWay(input);
    this.#state = runningState(status);
    this.#clock = new RolloutClock({ times: status.status, gates, timeoutMs: spec.remediationStrategy.timeout * 60_000, now });
    this.#deadline = this.#clock.deadline;
    this.#drift = this.#state === 'preparing' ? [] : findDrift(this.#clusters, input.observation);
  }

  run(): Advance {
    this.#recordDisappeared();
    for (const drift of this.#drift) if (!this.#isPast(toldAt(drift))) this.#wake(toldAt(drift));
    for (;;) {
      const look = this.#verdict ? {} : (this.#looks[this.#state]?.() ?? {});
      const next = nextRolloutState(this.#state, { ...look, hasVerdict: this.#verdict !== undefined });
      if (next === this.#state || next === 'ended') break;
      this.#enter(next);
    }
    if (this.#verdict) return this.#result(this.#verdict.progressing, this.#verdict.succeeded);
    this.#wake(this.#clusters.movesAt);
    if (!this.#clock.isStopped) this.#wake(this.#isPast(this.#deadline) ? this.#input.now + EDIT_RECHECK_MS : this.#deadline);
    return this.#result(this.#describeWaiting(), undefined);
  }

  /** To the gates comes the next batch, which starts once they are passed. */
  #enter(state: RolloutState): void {
    if (state === 'gated') {
      this.#clusters.batch += 1;
      this.#clock.endBatch();
    }
    if (state === 'batch') this.#clock.startBatch();
    if (state !== 'lookingBack') this.#clusters.progress = {};
    this.#state = state;
  }

  /** Clusters of the plan that are no ManagedClusters any more: recorded, and the rest goes on, unless it was a canary. */
  #recordDisappeared(): void {
    const { plan, progress } = this.#clusters;
    for (const cluster of [...plan.flat(), ...Object.keys(progress)])
      if (this.#clusters.isGone(cluster)) this.#advance(cluster, this.#deadline);
    this.#verdict = this.#clusters.canaryFailure;
  }

  /** Before the first batch: clusters that comply already get their last edits, all others their first. */
  #prepare(): RolloutLook {
    const { mode } = this.#input.observation;
    const planned = this.#clusters.plan.flat();
    const compliant = Object.keys(this.#clusters.progress);
    for (const cluster of compliant)
      this.#advance(cluster, this.#clusters.isMissing(cluster) ? Math.min(this.#clusters.returnsBy, this.#deadline) : this.#deadline);
    for (const cluster of planned) this.#advance(cluster, this.#deadline);
    if (this.#missing().length > 0) this.#wake(this.#clusters.returnsBy);
    const isOpen = (cluster: string) => !this.#clusters.isRecorded(cluster);
    const isDone = !planned.some((cluster) => isOpen(cluster) && !this.#clusters.isPrepared(cluster)) && !compliant.some(isOpen);
    this.#verdict = this.#clusters.canaryFailure;
    if (isDone && planned.some((cluster) => this.#clusters.isTimedOut(cluster))) this.#verdict ??= tookTooLong(mode.kind, '');
    if (isDone && planned.length === 0) this.#verdict ??= this.#conclude();
    return { isPrepared: isDone };
  }

  /** Members without a record that are not there, before the first batch: from then on each batch names its own. */
  #missing(): readonly string[] {
    const { plan, progress, batch } = this.#clusters;
    if (batch > 0) return [];
    const members = new Set([...plan.flat(), ...Object.keys(progress)]);
    return [...members].filter((cluster) => !this.#clusters.isRecorded(cluster) && this.#clusters.isMissing(cluster));
  }

  /** Asks the gates for the batch that comes next. */
  #askGates(): RolloutLook {
    const { gates, observation, wave } = this.#input;
    this.#refusal = judgeBatchGates(gates) ?? wave?.(this.#clusters.batch) ?? judgeLate(this.#clusters, observation);
    if (this.#refusal?.wakeAt !== undefined) this.#wake(this.#refusal.wakeAt);
    if (this.#refusal && this.#isPast(this.#deadline)) this.#verdict = tookTooLong(this.#input.observation.mode.kind, '');
    return { hasBegun: true, isOpen: !this.#refusal };
  }

  #runBatch(): RolloutLook {
    const isLast = this.#clusters.batch >= this.#clusters.plan.length;
    const { batch, plan } = this.#clusters;
    const awaiting = new Set(this.#clusters.awaiting);
    // The last batch has all that is left of the upgrade's time.
    const deadline = isLast ? this.#deadline : Math.min(this.#clock.batchDeadline(batch, plan.length), this.#deadline);
    if (isLast) this.#enforceAgain();
    const clusters = [...this.#clusters.current, ...this.#clusters.again];
    if (!this.#clock.isStopped) this.#clusters.until = deadline;
    for (const cluster of clusters) this.#advance(cluster, awaiting.has(cluster) ? this.#deadline : deadline);
    this.#placeAwaiting(awaiting);
    const isThrough = clusters.every((cluster) => this.#clusters.isRecorded(cluster));
    this.#verdict = this.#clusters.canaryFailure ?? (isThrough ? this.#judgeLate(clusters, isLast) : undefined);
    // Places are told of; last edits after the deadline are not.
    const isMoving = clusters.some((cluster) => !this.#clusters.isRecorded(cluster) && !this.#clusters.unplaced(cluster));
    if (isMoving && !this.#clock.isStopped) this.#wake(this.#isPast(deadline) ? this.#input.now + EDIT_RECHECK_MS : deadline);
    return { isThrough, isLast };
  }

  /**
   * A cluster that had no place has the time of its batch once it has one, or is held by something else, and so have those beside it. Where a late
   * batch ends the upgrade, none begins any more once one is late.
   */
  #placeAwaiting(awaiting: ReadonlySet<string>): void {
    const unplaced = [...awaiting].filter((cluster) => this.#clusters.unplaced(cluster));
    if (this.#endsByLateBatch() && this.#clusters.current.some((cluster) => this.#clusters.isTimedOut(cluster)))
      for (const cluster of unplaced) this.#advance(cluster, this.#input.now);
    else if (unplaced.length < awaiting.size) this.#clock.startBatch();
  }

  /** Outcome that late clusters lead to in a batch whose clusters are all recorded. */
  #judgeLate(clusters: readonly string[], isLast: boolean): Outcome | undefined {
    if (!clusters.some((cluster) => this.#clusters.isTimedOut(cluster))) return undefined;
    const { kind } = this.#input.observation.mode;
    if (this.#clusters.isCanaryBatch()) return tookTooLong(kind, ' on canary clusters');
    if (isLast || this.#isPast(this.#deadline)) return tookTooLong(kind, '');
    return this.#endsByLateBatch() ? tookTooLong(kind, ' on some clusters') : undefined;
  }

  /** A batch of which one is late is the last. */
  #endsByLateBatch(): boolean {
    return this.#clusters.isCanaryBatch() || this.#input.spec.batchTimeoutAction === 'Abort';
  }

  #lookBack(): RolloutLook {
    const { kind } = this.#input.observation.mode;
    this.#enforceAgain();
    this.#left = this.#leftBehind();
    if (this.#left.length === 0) this.#verdict = this.#conclude();
    else if (this.#isPast(this.#deadline)) this.#verdict = tookTooLong(kind, this.#clusters.isCanaryBatch() ? ' on canary clusters' : '');
    return {};
  }

  /** Those that fell back go on from the policy they fell back at. When time is up they are taken up all the same, to be recorded as late. */
  #enforceAgain(): void {
    const { gates, observation, status } = this.#input;
    const isLate = this.#isPast(this.#deadline);
    const lasting = this.#drift.filter((drift) => isLate || this.#isPast(toldAt(drift)));
    this.#refusal = lasting.length > 0 && !isLate ? judgeBatchGates(gates) : undefined;
    if (this.#refusal?.wakeAt !== undefined) this.#wake(this.#refusal.wakeAt);
    if (this.#refusal) return;
    const size = status.computedMaxConcurrency ?? Math.max(...this.#clusters.plan.map((batch) => batch.length));
    const chosen = isLate ? lasting : chooseAgain(this.#clusters, lasting, { size, forbids: observation.forbids });
    const placed = isLate ? chosen : chosen.filter(({ cluster }) => !this.#clusters.lacksPlace(cluster, false));
    const reopened = new Map(placed.map(({ cluster, policy }) => [cluster, policy]));
    this.#clusters.reopen(reopened);
    this.#drift = this.#drift.filter(({ cluster }) => !reopened.has(cluster));
  }

  #advance(cluster: string, deadline: number): void {
    this.#clusters.advance(cluster, this.#isPast(deadline));
  }

  /** In policy mode the end looks back: whoever timed out may have got there since, and whoever got there may have lost it. */
  #leftBehind(): readonly string[] {
    const { mode, exists, drift } = this.#input.observation;
    if (mode.kind !== 'policy') return [];
    const { records, plan, batch, completed, again } = this.#clusters;
    const failures = new Set(records.filter(({ state }) => state === RecordState.failed).map(({ name }) => name));
    const tried = new Set(drift ? [...plan.slice(0, batch).flat(), ...completed, ...again] : plan.slice(0, batch - 1).flat());
    // One that was enforced again, or was told to need it, has to be seen to comply.
    const isOpenAgain = (cluster: string) => !this.#clusters.isComplete(cluster) || this.#clusters.hasFallen(cluster);
    const isLeft = (cluster: string) => {
      const first = this.#clusters.isTimedOut(cluster) || (drift && isOpenAgain(cluster)) ? firstOpen : firstPending;
      return first(mode, cluster) !== undefined;
    };
    return [...tried].filter((cluster) => !failures.has(cluster) && exists(cluster) && isLeft(cluster));
  }

  /** A success is one of every cluster. The reference makes one of those that are left. */
  #conclude(): Outcome {
    const { mode } = this.#input.observation;
    const plan = this.#clusters.plan.flat();
    const status = { ...this.#input.status, clusters: [...this.#clusters.records] };
    const lost = this.#lost(status);
    if (lost.length === 0) return plan.length === 0 ? alreadyCompliant(status.clusters) : allCompleted(mode.kind, status.clusters);
    if (lost.some(({ state }) => state === RecordState.timedOut)) return tookTooLong(mode.kind, ' on some clusters');
    if (plan.length > 0 && plan.every((cluster) => this.#clusters.isGone(cluster)))
      return failed('No clusters available for remediation (none of them is a ManagedCluster any more)');
    const isPartial = !this.#input.talmStrict && status.clusters.some(({ state }) => state === RecordState.complete);
    return (isPartial ? partlyDone : failed)(describeLost(status, lost));
  }

  /** A cluster that timed out by ManifestWorks lost its work with its batch, so that it cannot get there later. */
  #lost(status: ClusterGroupUpgradeStatus): ClusterRecord[] {
    const { mode, exists } = this.#input.observation;
    if (!this.#input.talmStrict) return lostClusters(status, ({ name }) => mode.kind === 'policy' && exists(name));
    const planned = new Set(this.#clusters.plan.flat());
    const lost = lostClusters(status, () => true).filter(({ name }) => planned.has(name));
    return lost.length === planned.size ? lost : lost.filter(({ name }) => exists(name) && !this.#clusters.hasFailedPull(name));
  }

  #isPast(time: number): boolean {
    return this.#input.now >= time;
  }

  #wake(at: number): void {
    this.#wakeAt = Math.min(this.#wakeAt, at);
  }

  #describeWaiting(): Verdict {
    const { observation } = this.#input;
    if (this.#state === 'gated' && this.#refusal?.progressing) return this.#refusal.progressing;
    if (observation.surplus) return stoppedBySurplus(observation.surplus);
    if (this.#clusters.batch > 0 && observation.placementProblem !== undefined) return waitingForPlacement(observation.placementProblem);
    return describeProblems(inProgress(observation.mode.kind), observation.problem(undefined), this.#messages());
  }

  #messages(): Readonly<Record<string, string>> {
    const { mode, forbids, wait, surplus } = this.#input.observation;
    const missing = this.#missing();
    const absent = missing.length > 0 ? waitForMembers(missing, { until: this.#clusters.returnsBy }) : undefined;
    const held = surplus ?? absent ?? wait?.(undefined);
    const { now, status } = this.#input;
    // Gates wait for people and times: none is overdue.
    const ofAll = held ? withSince(held, status.messages?.[WHOLE_UPGRADE], now) : this.#state === 'gated' ? this.#refusal?.wait : undefined;
    const fallen = this.#drift
      .filter((drift) => this.#isPast(toldAt(drift)))
      .map(({ cluster, policy }) => [
        cluster,
        waitMessage(forbids?.(cluster) ?? this.#clusters.unplaced(cluster) ?? fellBack(mode.name(policy), this.#refusal?.gate)),
      ]);
    return { ...(ofAll && { [WHOLE_UPGRADE]: waitMessage(ofAll) }), ...Object.fromEntries(fallen), ...this.#clusters.problems() };
  }

  /** The end waits for clusters whose record says that they were late. */
  #late(): Readonly<Record<string, string>> {
    const { mode } = this.#input.observation;
    const late = this.#left.filter((cluster) => this.#clusters.isTimedOut(cluster));
    return Object.fromEntries(late.map((cluster) => [cluster, waitMessage(leftBehind(mode.name(firstOpen(mode, cluster) ?? 0)))]));
  }

  /** Covers clusters of earlier batches, also those that are enforced again. */
  #fallenSince(): ReadonlyMap<string, number> {
    const { drift } = this.#input.observation;
    const known = this.#clusters.again.map((cluster) => [cluster, drift?.since(cluster)] as const);
    const told = this.#drift.filter((each) => this.#isPast(toldAt(each))).map(({ cluster, since }) => [cluster, since] as const);
    return new Map([...known, ...told].filter((entry): entry is readonly [string, number] => entry[1] !== undefined));
  }

  #result(progressing: Verdict, succeeded: Verdict | undefined): Advance {
    const { batch, progress, records } = this.#clusters;
    return {
      status: {
        ...this.#input.status.status,
        ...this.#clock.times,
        currentBatch: batch === 0 ? undefined : batch,
        currentBatchRemediationProgress: Object.keys(progress).length > 0 ? progress : undefined,
      },
      clusters: records,
      messages: succeeded ? {} : { ...this.#late(), ...this.#messages() },
      fallenSince: succeeded ? new Map() : this.#fallenSince(),
      progressing,
      stall: succeeded || this.#state !== 'gated' ? undefined : this.#refusal?.stall,
      succeeded,
      wakeAt: succeeded || this.#wakeAt === Number.POSITIVE_INFINITY ? undefined : this.#wakeAt,
    };
  }
}
