/**
 * What a cluster's version operator is at (spec/cvo 2.6, 4.4).
 *
 *   idle ─INSTALL▶ initializing ─COMPLETED▶ reconciling ⇄ updating
 *
 * A change of what is wanted makes an update of everything but an install, which takes it along.
 */
import { setup, transition } from 'xstate';

/** Names are those of the reference's states, in lower case. */
export const payloadWorkMachine = setup({
  types: { events: {} as { type: 'INSTALL' | 'UPDATE' | 'RECONCILE' | 'CHANGED' | 'COMPLETED' } },
}).createMachine({
  id: 'payloadWork',
  initial: 'idle',
  states: {
    idle: { on: { INSTALL: 'initializing', UPDATE: 'updating', RECONCILE: 'reconciling' } },
    initializing: { on: { COMPLETED: 'reconciling', CHANGED: 'initializing' } },
    updating: { on: { COMPLETED: 'reconciling', CHANGED: 'updating' } },
    reconciling: { on: { COMPLETED: 'reconciling', CHANGED: 'updating' } },
  },
});

/** What is done with a release, and what changes it. */
export type PayloadWorkState = 'idle' | 'initializing' | 'updating' | 'reconciling';
export type PayloadWorkEvent = 'INSTALL' | 'UPDATE' | 'RECONCILE' | 'CHANGED' | 'COMPLETED';

/** The state after an event; one that has no meaning in a state leaves it. */
export function advancePayloadWork(state: PayloadWorkState, event: PayloadWorkEvent): PayloadWorkState {
  return transition(payloadWorkMachine, payloadWorkMachine.resolveState({ value: state }), { type: event })[0].value;
}
