/**
 * One upgrade, from its plan to the moment nothing of it is left on the hub (spec/talm 2.4 to 2.14).
 *
 *   validating ─isPlanned▶ preCaching ─isPrecached▶ gated ─mayBegin▶ preparing ─isPrepared▶ gated ─mayGoOn▶ batch
 *   batch ─hasNext▶ gated, ─isLast▶ lookingBack; a verdict ends each of them: ended ─isClean▶ cleaned
 *
 * A look carries what is observed in a state; one that changes nothing is the end of a pass. Before the start nothing but the plan is
 * stored, so each pass begins in validating; from then on in the state that the status says.
 */
import { setup, transition } from 'xstate';

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

/** The state after one look: at most one step, since what is seen in the next state is something else. */
export function nextRolloutState(state: RolloutState, look: RolloutLook): RolloutState {
  if (state === 'cleaned') return state;
  return transition(rolloutMachine, rolloutMachine.resolveState({ value: state }), { type: 'LOOK', ...look })[0].value;
}
