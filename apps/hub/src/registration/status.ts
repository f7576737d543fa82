/** Conditions of a registered ManagedCluster; no other file of this room names them. Pure. */
import { type Condition, findCondition, withCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, HUB_ACCEPTED } from '@flotilla/api/ocm';

/** Condition type of a cluster whose agent has connected once. */
const JOINED = 'ManagedClusterJoined';

/** True for a condition that decides something; agents report others too. */
export const isDecisive = ({ type }: Condition): boolean => type === HUB_ACCEPTED || type === JOINED || type === CLUSTER_AVAILABLE;

/** Reason and message of a refusal. */
export type DenialText = Pick<Condition, 'reason' | 'message'>;

/** Facts that the conditions report. */
interface RegistrationFacts {
  /** Undefined for an accepted cluster. */
  readonly denial: DenialText | undefined;
  /** The agent has renewed its lease at least once. */
  readonly hasJoined: boolean;
  /** The lease has expired. */
  readonly isLost: boolean;
}

/** Describes a registration by the conditions of its ManagedCluster. */
export function conditionsOf(before: readonly Condition[], { denial, hasJoined, isLost }: RegistrationFacts, now: number): Condition[] {
  let conditions = withCondition(before, accepted(denial), now);
  // A denied cluster must not keep a text of its agent, so an existing condition is overwritten.
  if (denial ? findCondition(conditions, JOINED) : hasJoined) conditions = withCondition(conditions, joined, now);
  // Only an agent can report its cluster as available, and a denied cluster's agent has no access.
  if (denial ? findCondition(conditions, CLUSTER_AVAILABLE) : isLost) conditions = withCondition(conditions, leaseStopped, now);
  return conditions;
}

type Wanted = Omit<Condition, 'lastTransitionTime'>;

const leaseStopped: Wanted = {
  type: CLUSTER_AVAILABLE,
  status: 'Unknown',
  reason: 'ManagedClusterLeaseUpdateStopped',
  message: 'Registration agent stopped updating its lease.',
};
const joined: Wanted = { type: JOINED, status: 'True', reason: 'ManagedClusterJoined', message: 'Managed cluster joined' };

const accepted = (denial: DenialText | undefined): Wanted =>
  denial
    ? { type: HUB_ACCEPTED, status: 'False', ...denial }
    : { type: HUB_ACCEPTED, status: 'True', reason: 'HubClusterAdminAccepted', message: 'Accepted by hub cluster admin' };
