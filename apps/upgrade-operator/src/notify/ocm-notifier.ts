import { errorMessage, FlotillaError } from '@flotilla/api';
import { NotificationState } from '@flotilla/api/managed';
import type { OcmClient } from '../clients/ocm.ts';
import type { OcmPolicy } from '../clients/ocm-answers.ts';
import type { Notification } from '../ports.ts';
import { descriptionOf, RETRY_WORD, serviceLogOf } from './texts.ts';

/** A notification that OCM cannot be given. Code `FLOTILLA_OCM_NOTIFICATION`. */
class OcmNotificationError extends FlotillaError {
  constructor(message: string, cause?: unknown) {
    super('FLOTILLA_OCM_NOTIFICATION', cause === undefined ? message : `${message}: ${errorMessage(cause)}`, { cause });
  }
}

/**
 * Tells OCM of one state (spec/muo 8.3). Sent again it changes nothing: a policy goes on only where it may go, and a service log that
 * is there is not posted twice.
 */
export async function notifyOcm(
  ocm: OcmClient,
  notification: Notification,
  { serviceLogs, signal }: { readonly serviceLogs: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const { state } = notification;
  const log = serviceLogOf(notification);
  const value = ocmValueOf(state);
  if (log === undefined && value === undefined) throw new OcmNotificationError(`state ${state} not yet implemented`);
  // A state of service logs is none of policies: there is nobody to tell.
  if (log && !serviceLogs) return;
  const earlier = untoldBefore(notification);
  // Told out of order, OCM would take the later one for impossible and never learn of it.
  if (earlier !== undefined && !log) throw new OcmNotificationError(`can't send notification: ${earlier} has to be told first`);
  const cluster = await inContext('failed to retrieve internal ocm cluster ID', () => ocm.cluster(signal));
  if (log) {
    await inContext("can't send notification: can't post service log", () =>
      ocm.ensureServiceLog(cluster.id, log, { since: notification.entry.startTime, signal }),
    );
    return;
  }
  const policies = await inContext("can't determine policy ID to notify for", () => ocm.policies(cluster.id, signal));
  const policy = policies.find((each) => isFor(each, notification));
  if (!policy) throw new OcmNotificationError("can't determine policy ID to notify for: no policy matches the current UpgradeConfig");
  const current = await inContext("can't determine policy state", () => ocm.policyState(cluster.id, policy.id, signal));
  const from = stateOf(current);
  if (from === undefined) throw new OcmNotificationError(`failed to convert OCM state ${JSON.stringify(current.value)}`);
  if (!isAllowed(from, state) || value === undefined) return;
  await inContext("can't send notification: can't set upgrade policy state", () =>
    ocm.setPolicyState(cluster.id, policy.id, { value, description: descriptionOf(notification) }, signal),
  );
}

/** Finds the first earlier state that OCM's policies know and that was not told yet. */
function untoldBefore({ state, entry: { notifications = [] } }: Notification): string | undefined {
  const at = notifications.findIndex((each) => each.state === state);
  return notifications.slice(0, at < 0 ? undefined : at).find((each) => each.time === undefined && isPolicyState(each.state))?.state;
}

/** The same version at the same second, however that is written: `upgradeAt` never has the fractions that a policy may have. */
function isFor({ version, next_run, problem }: OcmPolicy, { upgradeConfig: { spec } }: Notification): boolean {
  return problem === undefined && version === spec.desired.version && secondOf(next_run) === secondOf(spec.upgradeAt);
}

const secondOf = (time: string): number => Math.floor(Date.parse(time) / 1000);

async function inContext<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw new OcmNotificationError(what, error);
  }
}

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

/** True when OCM's policies know a state; the others belong to service logs. */
const isPolicyState = (state: string): boolean => Object.hasOwn(OCM_VALUES, state);

/** The state to write into OCM; undefined: OCM has none for it. */
const ocmValueOf = (state: NotificationState): string | undefined => OCM_VALUES[state];

/** State of a policy in the operator's terms; undefined when OCM's value is unknown. */
export function stateOf({ value, description }: { readonly value: string; readonly description: string }): State | undefined {
  const known = value.toLowerCase();
  if (known === 'delayed') return description.includes(RETRY_WORD) ? delayed : skipped;
  const unambiguous: readonly State[] = [started, completed, failed, 'StatePending', 'StateCancelled', 'StateScheduled'];
  return unambiguous.find((state) => OCM_VALUES[state] === known);
}

/** True when a policy may go from one state to another. */
export const isAllowed = (from: State, to: NotificationState): boolean => ALLOWED[from]?.includes(to) ?? false;
