/** The start of a rollout: its final plan, and its first stored status (spec/talm 2.9). Pure. */

import { conditionTime } from '@flotilla/api';
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { Refusal } from '../gates/gates.ts';
import { groupMeant } from '../policies/meant.ts';
import { type ClusterProgress, type Meant, ProgressState, RecordState } from '../upgrade/model.ts';
import { nextRolloutState, type RolloutState } from '../upgrade/stage.ts';
import { planBatches } from './batches.ts';
import { canaryBatches } from './waves.ts';

interface StartInput {
  /** Clusters that are left after pre-caching, backup and blocking upgrades, in the order of the plan. */
  readonly clusters: readonly string[];
  /** Clusters that had nothing to do from the beginning. */
  readonly compliant: readonly string[];
  readonly isCompliant: (cluster: string) => boolean;
  readonly canaries: readonly string[] | undefined;
  readonly maxConcurrency: number;
  /** Batches but those of canaries are filled with clusters that are ready when they begin; default false. */
  readonly waves?: boolean | undefined;
  readonly now: number;
  /** For whom policies (index) are meant, where that is remembered. */
  readonly policies?: { readonly count: number; readonly meant: (cluster: string, index: number) => Meant } | undefined;
  /** A cluster that has failed before and complies now is done, as in the reference; default false. */
  readonly talmStrict?: boolean;
}

/**
 * The status of an upgrade whose rollout starts now. There is no current batch yet: the clusters of the plan are prepared first, and
 * those that comply already stand in the progress as Completed until their last edits are seen on them.
 */
export function startRollout(before: ClusterGroupUpgradeStatus, input: StartInput): ClusterGroupUpgradeStatus {
  const { clusters, canaries, maxConcurrency, isCompliant, now, policies } = input;
  const { batches, compliant } = planBatches({ clusters, canaries, maxConcurrency, isCompliant });
  const nothingToDo = new Set([...input.compliant, ...compliant]);
  const records = input.talmStrict
    ? before.clusters?.filter(({ name, state }) => state !== RecordState.failed || !nothingToDo.has(name))
    : before.clusters;
  const recorded = new Set((records ?? []).map(({ name }) => name));
  const done = [...nothingToDo].filter((cluster) => !recorded.has(cluster));
  const progress: Record<string, ClusterProgress> = Object.fromEntries(
    done.map((cluster) => [cluster, { state: ProgressState.completed }]),
  );
  return {
    ...before,
    clusters: records,
    remediationPlan: batches.length > 0 ? batches : undefined,
    ...(input.waves === true && { batchesAtStart: canaryBatches(batches, canaries) }),
    policyReach: policies && groupMeant(batches.flat(), policies.count, policies.meant),
    status: {
      startedAt: before.status.startedAt ?? conditionTime(now),
      currentBatchRemediationProgress: done.length > 0 ? progress : undefined,
    },
  };
}

/**
 * State that an upgrade reaches before its start: `preparing` when it may start now. Nothing of it is stored but what is said to users, so
 * each pass goes all the way from the beginning.
 * @param refusal of the first gate that refuses
 */
export function stateBeforeStart({
  isPlanned,
  refusal,
}: {
  readonly isPlanned: boolean;
  readonly refusal: Refusal | undefined;
}): RolloutState {
  const look = {
    isPlanned,
    isPrecached: refusal?.gate !== 'precaching',
    isOpen: !refusal,
    hasBegun: false,
    hasVerdict: refusal?.outcome !== undefined,
  };
  let state: RolloutState = 'validating';
  for (;;) {
    const next = nextRolloutState(state, look);
    if (next === state) return state;
    state = next;
  }
}
