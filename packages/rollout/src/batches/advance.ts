/**
 * A running rollout, one pass (spec/talm 2.10, 2.11): from the stored status and what is observed to the next status. Pure, and as far
 * as it goes: a batch that has ended hands over to the next in the same pass.
 */

import { conditionTime } from '@flotilla/api';
import type { ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { advanceCluster, type RolloutClusterLook, type RolloutClusterState } from '@flotilla/machines';
import { judgeBatchGates } from '../gates/gates.ts';
import type { Window } from '../gates/window.ts';
import {
  type ClusterProgress,
  type ClusterRecord,
  ProgressState,
  RecordState,
  type RolloutObservation,
  type Verdict,
} from '../upgrade/model.ts';
import {
  allCompleted,
  alreadyCompliant,
  describeProblems,
  failed,
  inProgress,
  type Outcome,
  tookTooLong,
  waitingForPlacement,
} from '../upgrade/texts.ts';
import { indexOf, moveCluster } from './cluster-progress.ts';
import { batchDeadline, upgradeDeadline } from './deadlines.ts';

/** Everything a pass looks at. */
export interface AdvanceInput {
  readonly spec: Pick<ClusterGroupUpgradeSpec, 'remediationStrategy' | 'batchTimeoutAction'>;
  /** Of an upgrade whose rollout has started. */
  readonly status: ClusterGroupUpgradeStatus;
  readonly observation: RolloutObservation;
  readonly window: Window;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** What the status says after the pass. */
export interface Advance {
  readonly status: ClusterGroupUpgradeStatus['status'];
  readonly clusters: readonly ClusterRecord[];
  /** What keeps clusters that are under way from getting on, by cluster. */
  readonly messages: Readonly<Record<string, string>>;
  readonly progressing: Verdict;
  /** Set when the rollout has ended. */
  readonly succeeded: Verdict | undefined;
  /** When to look again even if nothing changes, epoch milliseconds. */
  readonly wakeAt: number | undefined;
}

/** One pass over a running rollout. */
export function advanceRollout(input: AdvanceInput): Advance {
  return new Pass(input).run();
}

/** How often, after the deadline, it is looked whether last edits are made, even if nothing happens. */
const EDIT_RECHECK_MS = 1000;

type Step = 'next' | 'wait' | Outcome;

/** The status under construction. */
class Pass {
  readonly #input: AdvanceInput;
  readonly #plan: readonly (readonly string[])[];
  readonly #canaries: ReadonlySet<string>;
  readonly #records: ClusterRecord[];
  readonly #recorded: Set<string>;
  readonly #timedOut: Set<string>;
  /** Set when a canary has failed. */
  #canaryFailure: Outcome | undefined;
  readonly #startedAt: number;
  readonly #deadline: number;
  /** From 1; 0 while the clusters are prepared. */
  #batch: number;
  #batchStartedAt: string | undefined;
  #progress: Record<string, ClusterProgress>;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(input: AdvanceInput) {
    const { status, spec, now } = input;
    this.#input = input;
    this.#plan = status.remediationPlan ?? [];
    this.#canaries = new Set(spec.remediationStrategy.canaries);
    this.#records = [...(status.clusters ?? [])];
    this.#recorded = new Set(this.#records.map(({ name }) => name));
    this.#timedOut = new Set(this.#records.filter(({ state }) => state === RecordState.timedOut).map(({ name }) => name));
    this.#startedAt = Date.parse(status.status.startedAt ?? conditionTime(now));
    this.#deadline = upgradeDeadline({ upgradeStartedAt: this.#startedAt, timeoutMs: spec.remediationStrategy.timeout * 60_000 });
    this.#batch = status.status.currentBatch ?? 0;
    this.#batchStartedAt = status.status.currentBatchStartedAt;
    this.#progress = { ...status.status.currentBatchRemediationProgress };
  }

  run(): Advance {
    let step = this.#recordDisappeared();
    while (step === 'next') step = this.#batch === 0 ? this.#prepare() : this.#runBatch();
    if (step !== 'wait') return this.#result(step.progressing, step.succeeded);
    this.#wake(this.#isPast(this.#deadline) ? this.#input.now + EDIT_RECHECK_MS : this.#deadline);
    return this.#result(this.#describeWaiting(), undefined);
  }

  /** Clusters of the plan that are no ManagedClusters any more: recorded, and the rest goes on, unless it was a canary. */
  #recordDisappeared(): Step {
    const { exists } = this.#input.observation;
    for (const cluster of [...this.#plan.flat(), ...Object.keys(this.#progress)])
      if (!exists(cluster)) this.#advance(cluster, this.#deadline);
    return this.#canaryFailure ?? 'next';
  }

  /** Before the first batch: clusters that comply already get their last edits, all others their first. */
  #prepare(): Step {
    const { isPrepared, mode } = this.#input.observation;
    const planned = this.#plan.flat();
    const compliant = Object.keys(this.#progress);
    for (const cluster of [...compliant, ...planned]) this.#advance(cluster, this.#deadline);
    if (this.#canaryFailure) return this.#canaryFailure;
    const isUnprepared = (cluster: string) => !this.#recorded.has(cluster) && !isPrepared(cluster);
    if (planned.some(isUnprepared) || compliant.some((cluster) => !this.#recorded.has(cluster))) return 'wait';
    if (planned.some((cluster) => this.#timedOut.has(cluster))) return tookTooLong(mode.kind, '');
    if (planned.length === 0) return alreadyCompliant();
    this.#awaitBatch(1);
    return 'next';
  }

  #runBatch(): Step {
    const { now, observation } = this.#input;
    const clusters = this.#plan[this.#batch - 1] ?? [];
    if (this.#batchStartedAt === undefined) {
      const refusal = judgeBatchGates(this.#input);
      if (refusal && this.#isPast(this.#deadline)) return tookTooLong(observation.mode.kind, '');
      if (refusal?.wakeAt !== undefined) this.#wake(refusal.wakeAt);
      if (refusal) return 'wait';
      this.#batchStartedAt = conditionTime(now);
      this.#progress = {};
    }
    const isLast = this.#batch >= this.#plan.length;
    // The last batch has all that is left of the upgrade's time.
    const deadline = isLast ? this.#deadline : Math.min(this.#batchDeadline(), this.#deadline);
    for (const cluster of clusters) this.#advance(cluster, deadline);
    if (this.#canaryFailure) return this.#canaryFailure;
    if (clusters.every((cluster) => this.#recorded.has(cluster))) return this.#endBatch(clusters, isLast);
    this.#wake(this.#isPast(deadline) ? now + EDIT_RECHECK_MS : deadline);
    return 'wait';
  }

  /** What is under way goes on: half an upgrade is worse than a whole one. */
  #forbidden(cluster: string): string | undefined {
    return this.#batch > 0 && this.#progress[cluster] === undefined ? this.#input.observation.forbids?.(cluster) : undefined;
  }

  /** Takes one cluster as far as the machine leads it with what is seen of it, and records it where that is an end. */
  #advance(cluster: string, deadline: number): void {
    if (this.#recorded.has(cluster)) return;
    const before = this.#stateOf(cluster);
    const state = advanceCluster(before, this.#look(cluster, deadline));
    if (state === 'complete') this.#record({ name: cluster, state: RecordState.complete });
    else if (state === 'timedOut') this.#recordTimedOut(cluster);
    else if (state === 'failed') this.#recordFailed(cluster);
  }

  /** By the stored progress alone. */
  #stateOf(cluster: string): RolloutClusterState {
    const progress = this.#progress[cluster];
    if (!progress) return this.#batch === 0 ? 'preparing' : 'waiting';
    if (progress.state === ProgressState.completed) return 'editing';
    return progress.firstCompliantAt === undefined ? 'remediating' : 'soaking';
  }

  /** What is seen of a cluster. In a batch this is where its progress moves on. */
  #look(cluster: string, deadline: number): RolloutClusterLook {
    const { exists, isPrepared, isEdited, problem } = this.#input.observation;
    const lasting = problem(cluster);
    return {
      exists: exists(cluster),
      isPrepared: isPrepared(cluster),
      position: exists(cluster) ? this.#positionOf(cluster) : 'before',
      isEdited: isEdited(cluster),
      isLate: this.#isPast(deadline),
      problem: lasting ? (lasting.isRefused ? 'refused' : 'lasts') : 'none',
    };
  }

  #positionOf(cluster: string): RolloutClusterLook['position'] {
    const { observation, now } = this.#input;
    if (this.#batch === 0) return 'before';
    if (this.#forbidden(cluster) !== undefined) return 'barred';
    const { progress, soakedAt } = moveCluster(this.#progress[cluster], cluster, observation.mode, now);
    this.#progress[cluster] = progress;
    if (soakedAt !== undefined) this.#wake(soakedAt);
    if (progress.state === ProgressState.completed) return 'through';
    return progress.firstCompliantAt === undefined ? 'at' : 'soaking';
  }

  /** It has left the fleet, or the API server refuses its edits: the end of the part of that cluster alone; of a canary, of the upgrade. */
  #recordFailed(name: string): void {
    const { exists, problem } = this.#input.observation;
    const message = exists(name) ? problem(name)?.message : undefined;
    this.#record({ name, state: RecordState.failed, ...(message !== undefined && { message }) });
    if (this.#canaries.has(name))
      this.#canaryFailure ??= failed(
        message === undefined ? `Canary cluster ${name} is no longer a ManagedCluster` : `Canary cluster ${name} failed: ${message}`,
      );
  }

  /** What a batch whose clusters are all recorded leads to: who is late first, then the rest of the plan. */
  #endBatch(clusters: readonly string[], isLast: boolean): Step {
    const { kind } = this.#input.observation.mode;
    const isLate = clusters.some((cluster) => this.#timedOut.has(cluster));
    const isCanary = clusters.length > 0 && clusters.every((cluster) => this.#canaries.has(cluster));
    if (isLate && isCanary) return tookTooLong(kind, ' on canary clusters');
    if (isLate && (isLast || this.#isPast(this.#deadline))) return tookTooLong(kind, '');
    if (isLate && this.#input.spec.batchTimeoutAction === 'Abort') return tookTooLong(kind, ' on some clusters');
    if (!isLast) {
      this.#awaitBatch(this.#batch + 1);
      return 'next';
    }
    if (this.#earlierBatchesAreDone()) return this.#conclude();
    return this.#isPast(this.#deadline) ? tookTooLong(kind, isCanary ? ' on canary clusters' : '') : 'wait';
  }

  #batchDeadline(): number {
    return batchDeadline({
      upgradeStartedAt: this.#startedAt,
      batchStartedAt: Date.parse(this.#batchStartedAt ?? conditionTime(this.#input.now)),
      timeoutMs: this.#deadline - this.#startedAt,
      batch: this.#batch,
      batches: this.#plan.length,
    });
  }

  /** In policy mode the end looks back: whoever timed out may have got there since, and whoever got there may have lost it. */
  #earlierBatchesAreDone(): boolean {
    const { mode, exists } = this.#input.observation;
    if (mode.kind !== 'policy') return true;
    const isDone = (cluster: string): boolean => {
      for (let index = 0; index < mode.count; index += 1) if (mode.standing(cluster, index) === 'pending') return false;
      return true;
    };
    const failures = new Set(this.#records.filter(({ state }) => state === RecordState.failed).map(({ name }) => name));
    return this.#plan
      .slice(0, this.#batch - 1)
      .flat()
      .every((cluster) => failures.has(cluster) || !exists(cluster) || isDone(cluster));
  }

  /** A success is one of the whole plan, but for clusters that have left the fleet. */
  #conclude(): Outcome {
    const { exists, mode } = this.#input.observation;
    const planned = new Set(this.#plan.flat());
    const lost = this.#records.filter(({ name, state }) => state === RecordState.failed && planned.has(name));
    const untouched = lost.filter(({ name }) => exists(name));
    const [first] = untouched;
    if (first)
      return failed(
        `${untouched.length} of ${planned.size} clusters failed; status.clusters names them, the first is ${first.name}${first.message === undefined ? '' : `: ${first.message}`}`,
      );
    if (lost.length === planned.size) return failed('No clusters available for remediation (none of them is a ManagedCluster any more)');
    return allCompleted(mode.kind);
  }

  /** The next batch, which has not started yet. */
  #awaitBatch(batch: number): void {
    this.#batch = batch;
    this.#batchStartedAt = undefined;
    this.#progress = {};
  }

  #record(record: ClusterRecord): void {
    this.#records.push(record);
    this.#recorded.add(record.name);
    if (record.state === RecordState.timedOut) this.#timedOut.add(record.name);
  }

  #recordTimedOut(name: string): void {
    const { mode } = this.#input.observation;
    const progress = this.#progress[name];
    const detail = progress?.state === ProgressState.inProgress ? mode.detail(name, indexOf(progress, mode.kind)) : {};
    this.#record({ name, state: RecordState.timedOut, ...detail, ...this.#why(name) });
  }

  #why(cluster: string): { readonly message?: string } {
    const message = this.#forbidden(cluster) ?? this.#input.observation.problem(cluster)?.message;
    return message === undefined ? {} : { message };
  }

  #isPast(time: number): boolean {
    return this.#input.now >= time;
  }

  #wake(at: number): void {
    this.#wakeAt = Math.min(this.#wakeAt, at);
  }

  #describeWaiting(): Verdict {
    const { observation } = this.#input;
    const refusal = this.#batch > 0 && this.#batchStartedAt === undefined ? judgeBatchGates(this.#input) : undefined;
    if (refusal?.progressing) return refusal.progressing;
    if (this.#batch > 0 && observation.placementProblem !== undefined) return waitingForPlacement(observation.placementProblem);
    return describeProblems(inProgress(observation.mode.kind), observation.problem(undefined), this.#problems());
  }

  /** What keeps clusters from getting on, by cluster. */
  #problems(): Record<string, string> {
    const { problem } = this.#input.observation;
    const open = (clusters: readonly string[]) => clusters.filter((cluster) => !this.#recorded.has(cluster));
    const moved = open([...(this.#batch === 0 ? this.#plan.flat() : []), ...Object.keys(this.#progress)]);
    const found = [
      ...open(this.#plan[this.#batch - 1] ?? []).map((cluster) => [cluster, this.#forbidden(cluster)] as const),
      ...moved.map((cluster) => [cluster, problem(cluster)?.message] as const),
    ];
    return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  #result(progressing: Verdict, succeeded: Verdict | undefined): Advance {
    const { status } = this.#input.status;
    return {
      status: {
        ...status,
        currentBatch: this.#batch === 0 ? undefined : this.#batch,
        currentBatchStartedAt: this.#batchStartedAt,
        currentBatchRemediationProgress: Object.keys(this.#progress).length > 0 ? this.#progress : undefined,
      },
      clusters: this.#records,
      messages: succeeded ? {} : this.#problems(),
      progressing,
      succeeded,
      wakeAt: succeeded || this.#wakeAt === Number.POSITIVE_INFINITY ? undefined : this.#wakeAt,
    };
  }
}
