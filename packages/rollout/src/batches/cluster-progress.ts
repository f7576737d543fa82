/** Moves one cluster of the current batch along (spec/talm 2.10). Pure. */
import { conditionTime } from '@flotilla/api';
import { type ClusterProgress, ProgressState, type RolloutMode } from '../upgrade/model.ts';

/** One cluster after a look at it. */
interface Moved {
  readonly progress: ClusterProgress;
  /** When it moves on if nothing changes, epoch milliseconds: its soak ends, or what it reports counts. */
  readonly movesAt?: number | undefined;
}

/** The index of a progress, in the field of its mode; absent counts as 0. */
export const indexOf = ({ policyIndex, manifestWorkIndex }: ClusterProgress, kind: RolloutMode['kind']): number =>
  (kind === 'policy' ? policyIndex : manifestWorkIndex) ?? 0;

/**
 * Moves a cluster to the first policy or template, from its current one on, that is not done or still soaks; past the last it is
 * Completed, which is sticky. A policy that is not matched is passed without soak.
 */
export function moveCluster(before: ClusterProgress | undefined, cluster: string, mode: RolloutMode, now: number): Moved {
  if (before?.state === ProgressState.completed) return { progress: before };
  let { firstCompliantAt } = before ?? {};
  for (let index = before ? indexOf(before, mode.kind) : 0; index < mode.count; index += 1) {
    const standing = mode.standing(cluster, index);
    if (standing === 'pending' || standing === 'unseen') return { progress: at(mode.kind, index), movesAt: mode.doneAt?.(cluster, index) };
    const soakSeconds = standing === 'done' ? mode.soakSeconds(index) : 0;
    if (soakSeconds > 0) {
      // A time that is yet to come was stored before the clock stepped back.
      const since = firstCompliantAt !== undefined && Date.parse(firstCompliantAt) <= now ? firstCompliantAt : conditionTime(now);
      const soakedAt = soakEnd(since, soakSeconds);
      if (now < soakedAt) return { progress: { ...at(mode.kind, index), firstCompliantAt: since }, movesAt: soakedAt };
    }
    firstCompliantAt = undefined;
  }
  return { progress: { state: ProgressState.completed } };
}

/** The stored time has whole seconds, cut off: one more, so that the soak is never shorter than it should be. */
const soakEnd = (since: string, seconds: number): number => Date.parse(since) + (seconds + 1) * 1000;

const at = (kind: RolloutMode['kind'], index: number): ClusterProgress =>
  kind === 'policy'
    ? { state: ProgressState.inProgress, policyIndex: index }
    : { state: ProgressState.inProgress, manifestWorkIndex: index };

/** Index of the first policy or template that is pending on a cluster. */
export function firstPending({ count, standing }: RolloutMode, cluster: string): number | undefined {
  for (let index = 0; index < count; index += 1) if (standing(cluster, index) === 'pending') return index;
  return undefined;
}

/** Index of the first policy or template that is pending on a cluster, or of which nobody can say. */
export function firstOpen({ count, standing }: RolloutMode, cluster: string): number | undefined {
  for (let index = 0; index < count; index += 1) if (['pending', 'unseen'].includes(standing(cluster, index))) return index;
  return undefined;
}
