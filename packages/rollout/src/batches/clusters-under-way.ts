/** The clusters of a running rollout in one pass: each as far as its machine leads it with what is seen of it. */

import { type ClusterGroupUpgradeSpec, type ClusterGroupUpgradeStatus, hasFailedPrecache } from '@flotilla/api/ran';
import { RETURN_MS, waitForMembers } from '../clusters/returning.ts';
import { type ClusterProgress, type ClusterRecord, ProgressState, RecordState, type RolloutObservation } from '../upgrade/model.ts';
import { failed, type Outcome, UNREACHED } from '../upgrade/texts.ts';
import { readWait, type Wait, waitMessage, withSince } from '../waits/wait.ts';
import {
  advanceCluster,
  indexOf,
  moveCluster,
  type RolloutClusterLook,
  type RolloutClusterState,
  stateByProgress,
} from './cluster-machine.ts';
import { lateClusters, latePulls } from './late-clusters.ts';

interface ClustersInput {
  readonly spec: Pick<ClusterGroupUpgradeSpec, 'remediationStrategy'>;
  readonly status: ClusterGroupUpgradeStatus;
  readonly observation: RolloutObservation;
  readonly now: number;
}

/** Progress and records under construction. */
export class ClustersUnderWay {
  readonly plan: readonly (readonly string[])[];
  readonly records: ClusterRecord[];
  readonly canaries: ReadonlySet<string>;
  /** Clusters that came to the plan after the start, and whose batch has not started. */
  readonly late: ReadonlySet<string>;
  /** Late clusters whose images are waited for. */
  readonly pulling: ReadonlySet<string>;
  progress: Record<string, ClusterProgress>;
  /** From 1; 0 while the clusters are prepared. */
  batch: number;
  /** Set when a canary has failed. */
  canaryFailure: Outcome | undefined;
  /** When the batch times out, milliseconds since the epoch; undefined while its clock stands still. */
  until: number | undefined;
  /** When the first of them moves on if nothing changes, epoch milliseconds. */
  movesAt = Number.POSITIVE_INFINITY;
  readonly #input: ClustersInput;
  /** Waits for places of clusters that would begin. */
  readonly #unplaced = new Map<string, Wait>();
  readonly #recorded: Map<string, ClusterRecord['state']>;

  constructor(input: ClustersInput) {
    const { status, spec } = input;
    this.#input = input;
    this.plan = status.remediationPlan ?? [];
    this.records = [...(status.clusters ?? [])];
    this.progress = { ...status.status.currentBatchRemediationProgress };
    this.batch = status.status.currentBatch ?? 0;
    this.late = new Set(lateClusters(status));
    this.pulling = new Set(latePulls(status));
    this.canaries = new Set(spec.remediationStrategy.canaries);
    this.#recorded = new Map(this.records.map(({ name, state }) => [name, state]));
    this.canaryFailure = this.#unreadyCanary();
  }

  /** A canary that was imported again, and that could not be given again what it needs before its part. */
  #unreadyCanary(): Outcome | undefined {
    const canary = this.current.find((cluster) => this.canaries.has(cluster) && this.#recorded.get(cluster) === RecordState.failed);
    return canary === undefined ? undefined : failed(`Canary cluster ${canary} failed: it could not be made ready again`);
  }

  /** Clusters of the current batch; none while they are prepared. */
  get current(): readonly string[] {
    return this.plan[this.batch - 1] ?? [];
  }

  /** Clusters of earlier batches that are enforced again. */
  get again(): readonly string[] {
    const current = new Set(this.current);
    return this.batch === 0 ? [] : Object.keys(this.progress).filter((cluster) => !current.has(cluster));
  }

  /** It has left the fleet: its part ends. */
  isGone(cluster: string): boolean {
    const { exists, hasLeft } = this.#input.observation;
    return !exists(cluster) && (hasLeft?.(cluster) ?? true);
  }

  /** It is not there and was not seen to leave, as while a hub is restored: it is waited for. */
  isMissing(cluster: string): boolean {
    return !this.#input.observation.exists(cluster) && !this.isGone(cluster);
  }

  /** Everything is as its batch wants it before it begins. A missing cluster is waited for half an hour, then in its batch. */
  isPrepared(cluster: string): boolean {
    return this.isMissing(cluster) ? this.#input.now >= this.returnsBy : this.#input.observation.isPrepared(cluster);
  }

  /** Time at which the first batch starts without the missing, milliseconds since the epoch. */
  get returnsBy(): number {
    const { startedAt } = this.#input.status.status;
    return (startedAt === undefined ? this.#input.now : Date.parse(startedAt)) + RETURN_MS;
  }

  isRecorded(cluster: string): boolean {
    return this.#recorded.has(cluster);
  }

  isTimedOut(cluster: string): boolean {
    return this.#recorded.get(cluster) === RecordState.timedOut;
  }

  isComplete(cluster: string): boolean {
    return this.#recorded.get(cluster) === RecordState.complete;
  }

  /** In the order of the plan, then those that complied from the beginning. */
  get completed(): readonly string[] {
    const names = new Set([...this.plan.flat(), ...this.#recorded.keys()]);
    return [...names].filter((cluster) => this.isComplete(cluster));
  }

  /** The last pass told that it did not comply any more: of a cluster that is complete nothing else is told. */
  hasFallen(cluster: string): boolean {
    return this.isComplete(cluster) && this.#input.status.messages?.[cluster] !== undefined;
  }

  /** Its images could not be pulled, also where it was tried again. */
  hasFailedPull(cluster: string): boolean {
    const state = this.#input.status.precaching?.status?.[cluster];
    return state !== undefined && hasFailedPrecache(state);
  }

  /** The current batch is made of canaries alone. */
  isCanaryBatch(): boolean {
    return this.current.length > 0 && this.current.every((cluster) => this.canaries.has(cluster));
  }

  /** Puts clusters that were complete back to a policy: their part has not ended. @param policies index by cluster */
  reopen(policies: ReadonlyMap<string, number>): void {
    this.records.splice(0, this.records.length, ...this.records.filter(({ name }) => !policies.has(name)));
    for (const [cluster, policyIndex] of policies) {
      this.#recorded.delete(cluster);
      this.progress[cluster] = { state: ProgressState.inProgress, policyIndex };
    }
  }

  /** A cluster that is under way goes on: half an upgrade is worse than a whole one. */
  forbidden(cluster: string): Wait | undefined {
    if (this.batch === 0 || this.progress[cluster] !== undefined) return undefined;
    const bar = this.#input.observation.forbids?.(cluster);
    if (bar?.until !== undefined) this.movesAt = Math.min(this.movesAt, bar.until);
    return bar;
  }

  /** Asks for the place of a cluster that begins. Time is over for one that begins too late, so it gets none. */
  lacksPlace(cluster: string, isLate: boolean): boolean {
    const wait = isLate ? this.#awaited(cluster) : this.#input.observation.place?.(cluster);
    if (wait) this.#unplaced.set(cluster, wait);
    return wait !== undefined;
  }

  /** The last pass had no place for it. */
  #awaited(cluster: string): Wait | undefined {
    const wait = readWait(this.#input.status.messages?.[cluster] ?? '');
    return wait?.cause === 'limit' ? wait : undefined;
  }

  /** Clusters of the current batch that had no place in the last pass. */
  get awaiting(): readonly string[] {
    return this.current.filter((cluster) => !this.isRecorded(cluster) && this.progress[cluster] === undefined && this.#awaited(cluster));
  }

  /** The wait of a cluster that this pass had no place for. */
  unplaced(cluster: string): Wait | undefined {
    return this.#unplaced.get(cluster);
  }

  /** Takes one cluster as far as the machine leads it with what is seen of it, and records it where that is an end. */
  advance(cluster: string, isLate: boolean): void {
    if (this.isRecorded(cluster)) return;
    const before = this.stateOf(cluster);
    const state = advanceCluster(before, this.#look(cluster, isLate));
    if (state === 'complete') this.#recordComplete(cluster);
    else if (state === 'timedOut') this.#recordTimedOut(cluster);
    else if (state === 'failed') this.#recordFailed(cluster);
  }

  /** By the progress alone. */
  stateOf(cluster: string): RolloutClusterState {
    return stateByProgress(this.progress[cluster], this.batch);
  }

  /** Problems that keep clusters from getting on, by cluster. */
  problems(): Record<string, string> {
    const open = (clusters: readonly string[]) => clusters.filter((cluster) => !this.isRecorded(cluster));
    const moved = open([...(this.batch === 0 ? this.plan.flat() : []), ...Object.keys(this.progress)]);
    const found = [
      ...open(this.current).map((cluster) => [cluster, this.#barOf(cluster) ?? this.#absenceOf(cluster)] as const),
      ...moved.map(
        (cluster) =>
          [
            cluster,
            this.#problemOf(cluster) ?? this.#waitOf(cluster) ?? (this.#isUnderWay(cluster) ? this.#awayOf(cluster) : undefined),
          ] as const,
      ),
    ];
    return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  #isUnderWay(cluster: string): boolean {
    return this.batch > 0 && this.progress[cluster]?.state === ProgressState.inProgress;
  }

  #barOf(cluster: string): string | undefined {
    const bar = this.forbidden(cluster);
    const unplaced = this.#unplaced.get(cluster);
    return bar ? waitMessage(bar) : unplaced && this.#say(cluster, unplaced);
  }

  #problemOf(cluster: string): string | undefined {
    const problem = this.#input.observation.problem(cluster);
    return problem?.wait ? waitMessage(problem.wait) : problem?.message;
  }

  #absenceOf(cluster: string): string | undefined {
    return this.isMissing(cluster) ? this.#say(cluster, waitForMembers([cluster])) : undefined;
  }

  #waitOf(cluster: string): string | undefined {
    const { mode, wait, unplaced } = this.#input.observation;
    const first = wait?.(cluster);
    if (first) return this.#say(cluster, first);
    const progress = this.progress[cluster];
    if (progress?.state !== ProgressState.inProgress) return undefined;
    const isSoaking = progress.firstCompliantAt !== undefined;
    const held = mode.wait?.(cluster, indexOf(progress, mode.kind)) ?? (isSoaking ? undefined : unplaced?.get(cluster));
    return held && this.#say(cluster, { ...held, since: undefined, until: this.until });
  }

  /** The status remembers since when a cluster has been held by the same. */
  #say(cluster: string, wait: Wait): string {
    const { status, now } = this.#input;
    return waitMessage(withSince(wait, status.messages?.[cluster], now));
  }

  #awayOf(cluster: string): string | undefined {
    const away = this.#input.observation.away?.(cluster);
    return away && waitMessage(away);
  }

  /** Observes a cluster; in a batch this also moves its progress on. */
  #look(cluster: string, isLate: boolean): RolloutClusterLook {
    const { exists, isEdited, problem } = this.#input.observation;
    const isMissing = this.isMissing(cluster);
    const lasting = problem(cluster);
    return {
      exists: exists(cluster) || isMissing,
      isPrepared: this.isPrepared(cluster),
      position: exists(cluster) ? this.#positionOf(cluster, isLate) : isMissing ? this.#missingAt(cluster) : 'before',
      isEdited: !isMissing && isEdited(cluster),
      isLate,
      problem: isMissing ? 'lasts' : lasting ? (lasting.isRefused ? 'refused' : 'lasts') : 'none',
    };
  }

  /** A soak of a cluster that nobody can see does not count. */
  #missingAt(cluster: string): RolloutClusterLook['position'] {
    if (this.batch === 0) return 'before';
    const { firstCompliantAt, ...at } = this.progress[cluster] ?? {};
    if (firstCompliantAt !== undefined) this.progress[cluster] = at;
    return 'barred';
  }

  #positionOf(cluster: string, isLate: boolean): RolloutClusterLook['position'] {
    const { observation, now } = this.#input;
    if (this.batch === 0) return 'before';
    if (this.forbidden(cluster) !== undefined) return 'barred';
    const { progress, movesAt = Number.POSITIVE_INFINITY } = moveCluster(this.progress[cluster], cluster, observation.mode, now);
    const begins = this.progress[cluster] === undefined && progress.state === ProgressState.inProgress;
    if (begins && this.lacksPlace(cluster, isLate)) return 'barred';
    this.progress[cluster] = progress;
    this.movesAt = Math.min(this.movesAt, movesAt);
    if (progress.state === ProgressState.completed) return 'through';
    return progress.firstCompliantAt === undefined ? 'at' : 'soaking';
  }

  /** It has left the fleet, or the API server refuses its edits: the end of the part of that cluster alone; of a canary, of the upgrade. */
  #recordFailed(name: string): void {
    const { problem } = this.#input.observation;
    const isGone = this.isGone(name);
    const message = isGone ? 'it is no longer a ManagedCluster' : problem(name)?.message;
    this.#record({ name, state: RecordState.failed, ...(message !== undefined && { message }) });
    if (this.canaries.has(name))
      this.canaryFailure ??= failed(
        isGone ? `Canary cluster ${name} is no longer a ManagedCluster` : `Canary cluster ${name} failed: ${message}`,
      );
  }

  #recordComplete(name: string): void {
    const { mode } = this.#input.observation;
    const isUnreached =
      mode.meant !== undefined && mode.count > 0 && all(mode.count, (index) => mode.standing(name, index) === 'notMatched');
    this.#record({ name, state: RecordState.complete, ...(isUnreached && { message: UNREACHED }) });
  }

  #recordTimedOut(name: string): void {
    const { mode } = this.#input.observation;
    const progress = this.progress[name];
    const detail = progress?.state === ProgressState.inProgress ? mode.detail(name, indexOf(progress, mode.kind)) : {};
    const message = this.#absenceOf(name) ?? this.#barOf(name) ?? this.#problemOf(name) ?? this.#waitOf(name) ?? this.#awayOf(name);
    this.#record({ name, state: RecordState.timedOut, ...detail, ...(message !== undefined && { message }) });
  }

  #record(record: ClusterRecord): void {
    this.records.push(record);
    this.#recorded.set(record.name, record.state);
  }
}

const all = (count: number, isSo: (index: number) => boolean): boolean => Array.from({ length: count }, (_, index) => index).every(isSo);
