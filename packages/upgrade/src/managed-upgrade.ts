/**
 * A managed upgrade of one cluster, by the phases of its UpgradeConfig (spec/muo 1.6).
 *
 *   New ─▶ Pending ─isDue, isWanted▶ Upgrading ─isDone▶ Upgraded
 *    ▲────────┘ isReplaced             └─isGivenUp▶ Failed
 *
 * A LOOK event carries the facts of one moment; an unknown fact counts as false. An event without a transition ends the pass.
 */
import type { UpgradePhase } from '@flotilla/api/managed';
import { setup, transition } from 'xstate';

/** Facts of one reconcile of an upgrade. */
export interface ManagedUpgradeLook {
  /** The upgrade is possible. */
  readonly isValid: boolean;
  /** The upgrade is scheduled now, or runs already. */
  readonly isDue: boolean;
  /** Answer of its provider, which is asked when the upgrade is due. */
  readonly provider: 'unasked' | 'agrees' | 'replaced';
  /** The upgrade window ended before any change. */
  readonly isGivenUp: boolean;
  /** Every step is done. */
  readonly isDone: boolean;
}

const when =
  (holds: (look: ManagedUpgradeLook) => boolean) =>
  ({ event }: { event: { type: 'LOOK' } & ManagedUpgradeLook }) =>
    holds(event);

/** Machine of a managed upgrade, for the diagram and for `advanceUpgrade`. */
export const managedUpgradeMachine = setup({
  types: { events: {} as { type: 'LOOK' } & ManagedUpgradeLook },
  guards: {
    isReplaced: when(({ provider }) => provider === 'replaced'),
    isReady: when(({ isValid, isDue, provider }) => isValid && isDue && provider === 'agrees'),
    isGivenUp: when(({ isGivenUp }) => isGivenUp),
    isDone: when(({ isDone }) => isDone),
  },
}).createMachine({
  id: 'managedUpgrade',
  initial: 'New',
  states: {
    New: { on: { LOOK: 'Pending' } },
    Pending: {
      on: {
        LOOK: [
          { guard: 'isReplaced', target: 'New' },
          { guard: 'isReady', target: 'Upgrading' },
        ],
      },
    },
    Upgrading: {
      on: {
        LOOK: [
          { guard: 'isGivenUp', target: 'Failed' },
          { guard: 'isDone', target: 'Upgraded' },
        ],
      },
    },
    Upgraded: { type: 'final' },
    Failed: { type: 'final' },
  },
});

/** Advances the phase by one event; returns the same phase when nothing follows. */
export function advanceUpgrade(phase: UpgradePhase, look: ManagedUpgradeLook): UpgradePhase {
  if (managedUpgradeMachine.states[phase]?.type === 'final') return phase;
  return transition(managedUpgradeMachine, managedUpgradeMachine.resolveState({ value: phase }), { type: 'LOOK', ...look })[0].value;
}
