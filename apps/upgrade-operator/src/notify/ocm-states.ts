import { NotificationState } from '@flotilla/api/managed';

/** States of OCM's upgrade policies that only others set. */
type ForeignState = 'StatePending' | 'StateCancelled' | 'StateScheduled';
type State = NotificationState | ForeignState;

const { started, delayed, scaleSkipped, skipped, completed, failed } = NotificationState;

/** Names of states in OCM (spec/muo 8.1); it does not know the others. */
const OCM_VALUES: Readonly<Partial<Record<State, string>>> = {
  [started]: 'started',
  [delayed]: 'delayed',
  [scaleSkipped]: 'delayed',
  [skipped]: 'delayed',
  [completed]: 'completed',
  [failed]: 'failed',
  StatePending: 'pending',
  StateCancelled: 'cancelled',
  StateScheduled: 'scheduled',
};

/** Transitions that a policy may make (spec/muo 8.3). */
const ALLOWED: Readonly<Partial<Record<State, readonly NotificationState[]>>> = {
  StateScheduled: [started],
  [started]: [scaleSkipped, delayed, completed, failed],
  [scaleSkipped]: [delayed, failed, skipped, completed],
  [delayed]: [completed, failed, skipped],
  [skipped]: [completed, failed],
};

/** A word of descriptions by which a delay that is tried again is told from what was skipped: OCM has one state for both. */
export const RETRY_WORD = 'retry';

/** True when OCM's policies know a state; the others belong to service logs. */
export const isPolicyState = (state: string): boolean => Object.hasOwn(OCM_VALUES, state);

/** The state to write into OCM; undefined: OCM has none for it. */
export const ocmValueOf = (state: NotificationState): string | undefined => OCM_VALUES[state];

/** State of a policy in the operator's terms; undefined when OCM's value is unknown. */
export function stateOf({ value, description }: { readonly value: string; readonly description: string }): State | undefined {
  const known = value.toLowerCase();
  if (known === 'delayed') return description.includes(RETRY_WORD) ? delayed : skipped;
  const unambiguous: readonly State[] = [started, completed, failed, 'StatePending', 'StateCancelled', 'StateScheduled'];
  return unambiguous.find((state) => OCM_VALUES[state] === known);
}

/** True when a policy may go from one state to another. */
export const isAllowed = (from: State, to: NotificationState): boolean => ALLOWED[from]?.includes(to) ?? false;
