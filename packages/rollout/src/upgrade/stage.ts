/**
 * One upgrade, from its plan to the moment nothing of it is left on the hub (spec/talm 2.4 to 2.14), and where it is by its stored status alone. Pure.
 *
 *   validating ─isPlanned▶ preCaching ─isPrecached▶ gated ─mayBegin▶ preparing ─isPrepared▶ gated ─mayGoOn▶ batch
 *   batch ─hasNext▶ gated, ─isLast▶ lookingBack; a verdict ends each of them: ended ─isClean▶ cleaned
 *
 * A look carries what is observed in a state; one that changes nothing is the end of a pass. Before the start nothing but the plan is
 * stored, so each pass begins in validating; from then on in the state that the status says.
 */
import { findCondition } from '@flotilla/api';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { setup, transition } from 'xstate';
import { ProgressState, RecordState } from './model.ts';

/**
 * States of an upgrade; the last one is final. In `gated` one list of gates is asked, before the start and before each batch; in `lookingBack`
 * every cluster has its record, and the earlier batches are looked at once more.
 */
export type RolloutState = 'validating' | 'preCaching' | 'gated' | 'preparing' | 'batch' | 'lookingBack' | 'ended' | 'cleaned';

/** Facts that one look at an upgrade shows; those that its state does not ask for are left out. */
export interface RolloutLook {
  /** No check has stopped the plan of the upgrade. */
  readonly isPlanned?: boolean;
  /** No spoke is waited for that pre-caches. */
  readonly isPrecached?: boolean;
  /** No gate refuses. */
  readonly isOpen?: boolean;
  /** The rollout has started, so the gates are those before a batch. */
  readonly hasBegun?: boolean;
  /** The clusters of the plan have their first edits, and those that comply already their last. */
  readonly isPrepared?: boolean;
  /** Every cluster of the batch has its record. */
  readonly isThrough?: boolean;
  /** No batch follows. */
  readonly isLast?: boolean;
  /** There is a verdict. */
  readonly hasVerdict?: boolean;
  /** Nothing is left on hub and spokes that this upgrade wants removed. */
  readonly isClean?: boolean;
}

const seen =
  (judge: (look: RolloutLook) => boolean | undefined) =>
  ({ event }: { event: { type: 'LOOK' } & RolloutLook }) =>
    judge(event) === true;
const ends = { guard: 'hasVerdict', target: 'ended' } as const;

/** For the diagram, and for `nextRolloutState`. */
export const rolloutMachine = setup({
  types: { events: {} as { type: 'LOOK' } & RolloutLook },
  guards: {
    isPlanned: seen(({ isPlanned }) => isPlanned),
    isPrecached: seen(({ isPrecached }) => isPrecached),
    mayBegin: seen(({ isOpen, hasBegun }) => isOpen && !hasBegun),
    mayGoOn: seen(({ isOpen, hasBegun }) => isOpen && hasBegun),
    isPrepared: seen(({ isPrepared }) => isPrepared),
    hasNext: seen(({ isThrough, isLast }) => isThrough && !isLast),
    isLast: seen(({ isThrough, isLast }) => isThrough && isLast),
    hasVerdict: seen(({ hasVerdict }) => hasVerdict),
    isClean: seen(({ isClean }) => isClean),
  },
}).createMachine({
  id: 'rollout',
  initial: 'validating',
  states: {
    validating: { on: { LOOK: [{ guard: 'isPlanned', target: 'preCaching' }] } },
    preCaching: { on: { LOOK: [ends, { guard: 'isPrecached', target: 'gated' }] } },
    gated: { on: { LOOK: [ends, { guard: 'mayBegin', target: 'preparing' }, { guard: 'mayGoOn', target: 'batch' }] } },
    preparing: { on: { LOOK: [ends, { guard: 'isPrepared', target: 'gated' }] } },
    batch: { on: { LOOK: [ends, { guard: 'hasNext', target: 'gated' }, { guard: 'isLast', target: 'lookingBack' }] } },
    lookingBack: { on: { LOOK: [ends] } },
    ended: { on: { LOOK: [{ guard: 'isClean', target: 'cleaned' }] } },
    cleaned: { type: 'final' },
  },
});

/** Everything that the machine asks of a look. */
const FACTS = Object.keys({
  isPlanned: true,
  isPrecached: true,
  isOpen: true,
  hasBegun: true,
  isPrepared: true,
  isThrough: true,
  isLast: true,
  hasVerdict: true,
  isClean: true,
} satisfies Record<keyof RolloutLook, true>) as (keyof RolloutLook)[];

/** A few hundred answers in all, and several with each pass of an upgrade: each is asked of the machine once. */
const answers = new Map<string, RolloutState>();

/** The state after one look: at most one step, since what is seen in the next state is something else. */
export function nextRolloutState(state: RolloutState, look: RolloutLook): RolloutState {
  if (state === 'cleaned') return state;
  const key = `${state} ${FACTS.map((fact) => (look[fact] ? 1 : 0)).join('')}`;
  const known = answers.get(key);
  if (known) return known;
  const next = transition(rolloutMachine, rolloutMachine.resolveState({ value: state }), { type: 'LOOK', ...look })[0].value;
  answers.set(key, next);
  return next;
}

/** The state that its stored status puts an upgrade in; before its start that says nothing but `validating`. */
export function stateOf(upgrade: ClusterGroupUpgrade): RolloutState {
  const { metadata, status } = upgrade;
  if (isEnding(upgrade)) return metadata.deletionTimestamp === undefined && status?.status.completedAt ? 'cleaned' : 'ended';
  return status && isRunning(upgrade) ? runningState(status) : 'validating';
}

/** The state of a rollout that has started and not ended. */
export function runningState({ status }: Pick<ClusterGroupUpgradeStatus, 'status'>): RolloutState {
  if (!status.currentBatch) return 'preparing';
  return status.currentBatchStartedAt === undefined ? 'gated' : 'batch';
}

/** True between the start of the rollout and its verdict; false from the moment the upgrade is deleted. */
export const isRunning = (upgrade: ClusterGroupUpgrade): boolean =>
  !isEnding(upgrade) && findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.progressing)?.status === 'True';

/** True from the verdict on, and from the moment the upgrade is deleted. */
export const isEnding = ({ metadata, status }: ClusterGroupUpgrade): boolean =>
  metadata.deletionTimestamp !== undefined || (status !== undefined && hasEnded(status));

/**
 * Templates that are rolled out, in order; empty in policy mode. Those of the spec until the start; from then on those of the status,
 * so that edits change nothing (on a hub whose CRD drops the field: those of the spec, unless policies are being rolled out).
 */
export function templatesOf(upgrade: ClusterGroupUpgrade): readonly string[] {
  const { spec, status } = upgrade;
  const wanted = spec?.manifestWorkTemplates ?? [];
  if (!isRunning(upgrade)) return wanted;
  return status?.manifestWorkTemplates ?? (status?.managedPoliciesForUpgrade ? [] : wanted);
}

/** Where the hub objects of an upgrade go when it ends: away, unless the user wants them kept and the upgrade itself is kept. */
export const keepsObjects = ({ metadata, spec }: ClusterGroupUpgrade): boolean =>
  metadata.deletionTimestamp === undefined && spec?.actions?.afterCompletion?.deleteObjects === false;

/** Every cluster has the images, or has failed to get them. */
export const isPrecached = ({ conditions }: Pick<ClusterGroupUpgradeStatus, 'conditions'>): boolean => {
  const condition = findCondition(conditions, ClusterGroupUpgradeCondition.precachingSucceeded);
  return condition?.status === 'True' || condition?.reason === 'PartiallyDone';
};

/** True once the hub objects of an upgrade were removed at its end: what is on the spokes since is others'. */
export const wasCleaned = ({ spec, status }: ClusterGroupUpgrade): boolean =>
  status?.status.completedAt !== undefined && spec?.actions?.afterCompletion?.deleteObjects !== false;

/** Clusters whose part has begun, or has ended. */
export const begunClusters = ({ clusters = [], status }: ClusterGroupUpgradeStatus): ReadonlySet<string> =>
  new Set([...clusters.map(({ name }) => name), ...Object.keys(status.currentBatchRemediationProgress ?? {})]);

/** The part of a cluster in the upgrade has ended well. */
export const isComplete = ({ status }: ClusterGroupUpgrade, cluster: string): boolean =>
  status?.clusters?.some(({ name, state }) => name === cluster && state === RecordState.complete) === true;

/** Number of the batch that an upgrade is at, or was at last; 0 before the first. The end takes it from the status: the summary keeps it. */
export const lastBatch = ({ status, summary }: ClusterGroupUpgradeStatus): number =>
  status.currentBatch ?? (status.completedAt === undefined ? 0 : Number.parseInt(summary?.batch ?? '0', 10));

/**
 * True when the next status hands over to another batch, starts it, ends or pauses the rollout, takes a retry up, or says of the last cluster
 * of a batch that it is done. No cluster is at work then, so each moment until it is stored is lost. There are a few of these per batch, however many clusters.
 */
export function isTurningPoint(before: ClusterGroupUpgradeStatus, after: ClusterGroupUpgradeStatus): boolean {
  const ends = !hasEnded(before) && hasEnded(after);
  const handsOver =
    before.status.currentBatch !== after.status.currentBatch || before.status.currentBatchStartedAt !== after.status.currentBatchStartedAt;
  const isPaused = (status: ClusterGroupUpgradeStatus) =>
    findCondition(status.conditions, ClusterGroupUpgradeCondition.paused) !== undefined;
  const isRetried = before.lastHandledRetryAt !== after.lastHandledRetryAt;
  return ends || handsOver || isRetried || isPaused(before) !== isPaused(after) || (isAtWork(before) && !isAtWork(after));
}

const hasEnded = ({ conditions }: ClusterGroupUpgradeStatus): boolean =>
  findCondition(conditions, ClusterGroupUpgradeCondition.succeeded) !== undefined;

/** Some cluster of the current batch is under way; who is recorded as timed out or failed is not waited for any more. */
function isAtWork({ status, clusters = [] }: ClusterGroupUpgradeStatus): boolean {
  const recorded = new Set(clusters.map(({ name }) => name));
  return Object.entries(status.currentBatchRemediationProgress ?? {}).some(
    ([cluster, { state }]) => state === ProgressState.inProgress && !recorded.has(cluster),
  );
}
