/**
 * One cluster of a rollout, from its first edits to its record (spec/talm 2.9 to 2.11).
 *
 *   preparing ─isPrepared▶ waiting ─isAtOne▶ remediating ⇄ soaking ─isThrough▶ editing ─isEdited▶ complete
 *
 * A late cluster becomes timedOut; one that has left the fleet or is refused becomes failed. A look carries what is observed; one that
 * changes nothing is the end of a pass for the cluster.
 */
import { conditionTime } from '@flotilla/api';
import { setup, transition } from 'xstate';
import { type ClusterProgress, ProgressState, type RolloutMode } from '../upgrade/model.ts';

/** States of a cluster; the last three are final. */
export type RolloutClusterState = 'preparing' | 'waiting' | 'remediating' | 'soaking' | 'editing' | 'complete' | 'timedOut' | 'failed';

/** Facts that one look at a cluster shows. */
export interface RolloutClusterLook {
  /** It is a ManagedCluster. */
  readonly exists: boolean;
  /** The edits before the rollout are seen on it. */
  readonly isPrepared: boolean;
  /** Where it is: its batch is yet to come, it may not be begun, it is or soaks at a policy or template, or it is past the last. */
  readonly position: 'before' | 'barred' | 'at' | 'soaking' | 'through';
  /** The edits after completion are seen on it. */
  readonly isEdited: boolean;
  /** Its time is over. */
  readonly isLate: boolean;
  /** An error that lasts: one that may pass, or the API server's refusal. */
  readonly problem: 'none' | 'lasts' | 'refused';
}

const seen =
  (judge: (look: RolloutClusterLook) => boolean) =>
  ({ event }: { event: { type: 'LOOK' } & RolloutClusterLook }) =>
    judge(event);
const gone = { guard: 'isGone', target: 'failed' } as const;
const late = { guard: 'isLate', target: 'timedOut' } as const;
const refused = { guard: 'isRefused', target: 'failed' } as const;
const through = { guard: 'isThrough', target: 'editing' } as const;
const soaks = { guard: 'isSoaking', target: 'soaking' } as const;
const begins = { guard: 'isAtOne', target: 'remediating' } as const;

/** For the diagram, and for `advanceCluster`. */
export const rolloutClusterMachine = setup({
  types: { events: {} as { type: 'LOOK' } & RolloutClusterLook },
  guards: {
    isGone: seen(({ exists }) => !exists),
    isPrepared: seen(({ isPrepared }) => isPrepared),
    isLate: seen(({ isLate }) => isLate),
    isRefused: seen(({ problem }) => problem === 'refused'),
    isBarredTooLong: seen(({ isLate, position }) => isLate && position === 'barred'),
    isAtOne: seen(({ position }) => position === 'at'),
    isSoaking: seen(({ position }) => position === 'soaking'),
    isThrough: seen(({ position }) => position === 'through'),
    isEdited: seen(({ isEdited }) => isEdited),
    // A cluster that got there in time gets its edits and counts, also after the deadline: only an error that lasts ends the waiting.
    isLateAndHeld: seen(({ isLate, problem }) => isLate && problem !== 'none'),
  },
}).createMachine({
  id: 'rolloutCluster',
  initial: 'preparing',
  states: {
    preparing: { on: { LOOK: [gone, { guard: 'isPrepared', target: 'waiting' }, late, refused] } },
    waiting: { on: { LOOK: [gone, through, soaks, begins, { guard: 'isBarredTooLong', target: 'timedOut' }] } },
    remediating: { on: { LOOK: [gone, through, soaks, late] } },
    soaking: { on: { LOOK: [gone, through, begins, late] } },
    editing: {
      on: { LOOK: [gone, { guard: 'isEdited', target: 'complete' }, refused, { guard: 'isLateAndHeld', target: 'timedOut' }] },
    },
    complete: { type: 'final' },
    timedOut: { type: 'final' },
    failed: { type: 'final' },
  },
});

/** A few dozen answers in all, and thousands of clusters: each is asked of the machine once. */
const answers = new Map<string, RolloutClusterState>();

/** The state after one look, as far as it leads. */
export function advanceCluster(state: RolloutClusterState, look: RolloutClusterLook): RolloutClusterState {
  const { exists, isPrepared, position, isEdited, isLate, problem } = look;
  const key = `${state} ${exists} ${isPrepared} ${position} ${isEdited} ${isLate} ${problem}`;
  const known = isFinal(state) ? state : answers.get(key);
  if (known) return known;
  const next = transition(rolloutClusterMachine, rolloutClusterMachine.resolveState({ value: state }), { type: 'LOOK', ...look })[0].value;
  const end = next === state ? next : advanceCluster(next, look);
  answers.set(key, end);
  return end;
}

const isFinal = (state: RolloutClusterState): boolean => rolloutClusterMachine.states[state]?.type === 'final';

/** The state that its stored progress puts a cluster in. @param batch from 1; 0 while the clusters are prepared */
export function stateByProgress(progress: ClusterProgress | undefined, batch: number): RolloutClusterState {
  if (!progress) return batch === 0 ? 'preparing' : 'waiting';
  if (progress.state === ProgressState.completed) return 'editing';
  return progress.firstCompliantAt === undefined ? 'remediating' : 'soaking';
}

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
