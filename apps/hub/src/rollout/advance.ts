/**
 * A running rollout, one pass (spec/talm 2.10, 2.11): from the stored status and what is observed to the next status. Pure, and as far
 * as it goes: a batch that has ended hands over to the next in the same pass.
 */
import { type ClusterGroupUpgradeSpec, type ClusterGroupUpgradeStatus, conditionTime } from '@flotilla/api';
import { indexOf, moveCluster } from './cluster-progress.ts';
import { batchDeadline, upgradeDeadline } from './deadlines.ts';
import { type ClusterProgress, type ClusterRecord, ProgressState, RecordState, type RolloutObservation, type Verdict } from './model.ts';
import {
  allCompleted,
  alreadyCompliant,
  failed,
  inProgress,
  type Outcome,
  tookTooLong,
  waitingForPlacement,
  waitingForWindow,
} from './texts.ts';
import type { Window } from './window.ts';

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

type Step = 'next' | 'wait' | Outcome;

/** The status under construction. */
class Pass {
  readonly #input: AdvanceInput;
  readonly #plan: readonly (readonly string[])[];
  readonly #canaries: ReadonlySet<string>;
  readonly #records: ClusterRecord[];
  readonly #recorded: Set<string>;
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
    this.#wake(this.#deadline);
    return this.#result(this.#describeWaiting(), undefined);
  }

  /** Clusters of the plan that are no ManagedClusters any more: recorded, and the rest goes on, unless it was a canary. */
  #recordDisappeared(): Step {
    const { exists } = this.#input.observation;
    const gone = [...this.#plan.flat(), ...Object.keys(this.#progress)].filter(
      (cluster) => !this.#recorded.has(cluster) && !exists(cluster),
    );
    for (const name of new Set(gone)) this.#record({ name, state: RecordState.failed });
    const canary = gone.find((cluster) => this.#canaries.has(cluster));
    return canary === undefined ? 'next' : failed(`Canary cluster ${canary} is no longer a ManagedCluster`);
  }

  /** Before the first batch: clusters that comply already get their last edits, all others their first. */
  #prepare(): Step {
    const { isPrepared, mode } = this.#input.observation;
    for (const [cluster, { state }] of Object.entries(this.#progress)) if (state === ProgressState.completed) this.#recordEdited(cluster);
    const unprepared = this.#plan.flat().filter((cluster) => !this.#recorded.has(cluster) && !isPrepared(cluster));
    const unedited = Object.keys(this.#progress).filter((cluster) => !this.#recorded.has(cluster));
    if (unprepared.length + unedited.length === 0) {
      if (this.#plan.length === 0) return alreadyCompliant(mode.kind);
      this.#awaitBatch(1);
      return 'next';
    }
    if (!this.#isPast(this.#deadline)) return 'wait';
    for (const name of unprepared) this.#record({ name, state: RecordState.timedOut });
    return tookTooLong(mode.kind, '');
  }

  #runBatch(): Step {
    const { now, window, observation } = this.#input;
    const clusters = this.#plan[this.#batch - 1] ?? [];
    if (this.#batchStartedAt === undefined) {
      if (window.kind !== 'open')
        return this.#isPast(this.#deadline) ? tookTooLong(observation.mode.kind, '') : this.#waitForWindow(window);
      this.#batchStartedAt = conditionTime(now);
      this.#progress = {};
    }
    for (const cluster of clusters) if (!this.#recorded.has(cluster)) this.#move(cluster);
    const isLast = this.#batch >= this.#plan.length;
    if (clusters.every((cluster) => this.#recorded.has(cluster)) && (!isLast || this.#earlierBatchesAreDone())) {
      if (isLast) return this.#conclude();
      this.#awaitBatch(this.#batch + 1);
      return 'next';
    }
    return this.#checkTime(clusters, isLast);
  }

  #move(cluster: string): void {
    const { observation, now } = this.#input;
    const { progress, soakedAt } = moveCluster(this.#progress[cluster], cluster, observation.mode, now);
    this.#progress[cluster] = progress;
    if (soakedAt !== undefined) this.#wake(soakedAt);
    if (progress.state === ProgressState.completed) this.#recordEdited(cluster);
  }

  /** The upgrade's time first: the last batch has all that is left of it. */
  #checkTime(clusters: readonly string[], isLast: boolean): Step {
    const { kind } = this.#input.observation.mode;
    const isCanary = clusters.length > 0 && clusters.every((cluster) => this.#canaries.has(cluster));
    const deadline = isLast ? this.#deadline : Math.min(this.#batchDeadline(), this.#deadline);
    if (!this.#isPast(deadline)) {
      this.#wake(deadline);
      return 'wait';
    }
    for (const cluster of clusters) if (!this.#recorded.has(cluster)) this.#recordTimedOut(cluster);
    if (isCanary) return tookTooLong(kind, ' on canary clusters');
    if (this.#isPast(this.#deadline)) return tookTooLong(kind, '');
    if (this.#input.spec.batchTimeoutAction === 'Abort') return tookTooLong(kind, ' on some clusters');
    this.#awaitBatch(this.#batch + 1);
    return 'next';
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

  #conclude(): Outcome {
    const planned = new Set(this.#plan.flat());
    const gone = this.#records.filter(({ name, state }) => state === RecordState.failed && planned.has(name));
    if (gone.length === planned.size) return failed('No clusters available for remediation (none of them is a ManagedCluster any more)');
    return allCompleted(this.#input.observation.mode.kind);
  }

  /** The next batch, which has not started yet. */
  #awaitBatch(batch: number): void {
    this.#batch = batch;
    this.#batchStartedAt = undefined;
    this.#progress = {};
  }

  #waitForWindow(window: Window): Step {
    if (window.kind === 'closed' && window.opensAt !== undefined) this.#wake(window.opensAt);
    return 'wait';
  }

  #record(record: ClusterRecord): void {
    this.#records.push(record);
    this.#recorded.add(record.name);
  }

  /** Complete is what a cluster is when its last edits are seen on it. */
  #recordEdited(cluster: string): void {
    if (!this.#recorded.has(cluster) && this.#input.observation.isEdited(cluster))
      this.#record({ name: cluster, state: RecordState.complete });
  }

  #recordTimedOut(name: string): void {
    const { mode } = this.#input.observation;
    const progress = this.#progress[name];
    const detail = progress?.state === ProgressState.inProgress ? mode.detail(name, indexOf(progress, mode.kind)) : {};
    this.#record({ name, state: RecordState.timedOut, ...detail });
  }

  #isPast(time: number): boolean {
    return this.#input.now >= time;
  }

  #wake(at: number): void {
    this.#wakeAt = Math.min(this.#wakeAt, at);
  }

  #describeWaiting(): Verdict {
    const { observation, window } = this.#input;
    if (this.#batch > 0 && this.#batchStartedAt === undefined && window.kind !== 'open') return waitingForWindow('True', window.message);
    if (this.#batch > 0 && observation.placementProblem !== undefined) return waitingForPlacement(observation.placementProblem);
    return inProgress(observation.mode.kind);
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
      progressing,
      succeeded,
      wakeAt: succeeded || this.#wakeAt === Number.POSITIVE_INFINITY ? undefined : this.#wakeAt,
    };
  }
}
