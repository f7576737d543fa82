/**
 * Work of a cluster's version operator (spec/cvo 2.6, 4.4).
 *
 *   idle ─INSTALL▶ initializing ─COMPLETED▶ reconciling ⇄ updating
 *
 * A change of the wanted state turns reconciling into updating; an install or an update takes it along.
 */

/** State of the work on a release; the names are those of the reference's states, in lower case. */
export type PayloadWorkState = 'idle' | 'initializing' | 'updating' | 'reconciling';
/** Events that change the state. */
export type PayloadWorkEvent = 'INSTALL' | 'UPDATE' | 'RECONCILE' | 'CHANGED' | 'COMPLETED';

const transitions: Record<PayloadWorkState, Partial<Record<PayloadWorkEvent, PayloadWorkState>>> = {
  idle: { INSTALL: 'initializing', UPDATE: 'updating', RECONCILE: 'reconciling' },
  initializing: { COMPLETED: 'reconciling' },
  updating: { COMPLETED: 'reconciling' },
  reconciling: { CHANGED: 'updating' },
};

/** The state after an event; one that has no meaning in a state leaves it. */
export const advancePayloadWork = (state: PayloadWorkState, event: PayloadWorkEvent): PayloadWorkState =>
  transitions[state][event] ?? state;
