/**
 * A managed upgrade of one cluster, by the phases of its UpgradeConfig (spec/muo 1.6).
 *
 *   New ─▶ Pending ─isDue, isWanted▶ Upgrading ─isDone▶ Upgraded
 *    ▲────────┘ isReplaced             └─isGivenUp▶ Failed
 *
 * A look carries what is known at that moment; what is not known is not so. One that changes nothing is the end of a pass.
 */
import type { UpgradePhase } from '@flotilla/api/managed';
import { setup, transition } from 'xstate';

/** What one look at an upgrade shows. */
export interface ManagedUpgradeLook {
  /** What is asked for can be carried out. */
  readonly isValid: boolean;
  /** Its time has come, or it is under way already. */
  readonly isDue: boolean;
  /** What its provider says of it, asked when it is due. */
  readonly provider: 'unasked' | 'agrees' | 'replaced';
  /** The upgrade window ended before anything was changed. */
  readonly isGivenUp: boolean;
  /** Every step is done. */
  readonly isDone: boolean;
}

const seen =
  (judge: (look: ManagedUpgradeLook) => boolean) =>
  ({ event }: { event: { type: 'LOOK' } & ManagedUpgradeLook }) =>
    judge(event);

/** For the diagram, and for `advanceUpgrade`. */
export const managedUpgradeMachine = setup({
  types: { events: {} as { type: 'LOOK' } & ManagedUpgradeLook },
  guards: {
    isReplaced: seen(({ provider }) => provider === 'replaced'),
    isReady: seen(({ isValid, isDue, provider }) => isValid && isDue && provider === 'agrees'),
    isGivenUp: seen(({ isGivenUp }) => isGivenUp),
    isDone: seen(({ isDone }) => isDone),
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

/** The phase after one look; the same when nothing follows from it. */
export function advanceUpgrade(phase: UpgradePhase, look: ManagedUpgradeLook): UpgradePhase {
  if (managedUpgradeMachine.states[phase]?.type === 'final') return phase;
  return transition(managedUpgradeMachine, managedUpgradeMachine.resolveState({ value: phase }), { type: 'LOOK', ...look })[0].value;
}
