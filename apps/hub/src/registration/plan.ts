import { type Condition, conditionTime, findCondition, isSameJson, withCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, HUB_ACCEPTED, type ManagedCluster } from '@flotilla/api/ocm';
import { z } from 'zod';

/** Condition type that says that the agent has been here. */
export const JOINED = 'ManagedClusterJoined';

const UNREACHABLE = 'cluster.open-cluster-management.io/unreachable';
const UNAVAILABLE = 'cluster.open-cluster-management.io/unavailable';

const DEFAULT_LEASE_SECONDS = 60;
/** A spoke is lost when it has missed so many renewals. */
const MISSED_LEASES = 5;

/** What a verdict is made from. */
interface Registration {
  readonly cluster: ManagedCluster;
  /** When the Lease was renewed last, by the clock of the hub's server; undefined: there is none. */
  readonly renewTime: string | undefined;
  /** Namespace the hub itself lives in. */
  readonly hubNamespace: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What a ManagedCluster has to say. */
export interface RegistrationVerdict {
  readonly isAccepted: boolean;
  /** The whole list; undefined: it is right as it is. */
  readonly conditions: Condition[] | undefined;
  /** Merge patch of labels and taints; undefined: they are right as they are. */
  readonly edits: { readonly metadata?: object; readonly spec?: object } | undefined;
  /** When the lease runs out, in milliseconds since the epoch; undefined: it has. */
  readonly leaseEndsAt: number | undefined;
}

/** Judges one cluster: is it let in, is it alive, may something be placed on it. Pure. */
export function judgeRegistration({ cluster, renewTime, hubNamespace, now }: Registration): RegistrationVerdict {
  const conditions = cluster.status?.conditions ?? [];
  const refusal = refusalOf(cluster, hubNamespace);
  const endsAt = leaseEnd(cluster, renewTime);
  let wanted = withCondition(conditions, accepted(refusal), now);
  // A denied cluster keeps no word of its agent.
  if (refusal ? findCondition(wanted, JOINED) : renewTime !== undefined) wanted = withCondition(wanted, joined, now);
  // Only an agent can tell that its cluster is available, and that of a denied one reaches nobody.
  if (refusal ? findCondition(wanted, CLUSTER_AVAILABLE) : now >= endsAt) wanted = withCondition(wanted, leaseStopped, now);
  return {
    isAccepted: refusal === undefined,
    conditions: isSameJson(wanted, conditions) ? undefined : wanted,
    edits: refusal ? undefined : editsOf(cluster, findCondition(wanted, CLUSTER_AVAILABLE)?.status, now),
    leaseEndsAt: now < endsAt ? endsAt : undefined,
  };
}

type Wanted = Omit<Condition, 'lastTransitionTime'>;

const leaseStopped: Wanted = {
  type: CLUSTER_AVAILABLE,
  status: 'Unknown',
  reason: 'ManagedClusterLeaseUpdateStopped',
  message: 'Registration agent stopped updating its lease.',
};
const joined: Wanted = { type: JOINED, status: 'True', reason: 'ManagedClusterJoined', message: 'Managed cluster joined' };

const accepted = (refusal: Pick<Condition, 'reason' | 'message'> | undefined): Wanted =>
  refusal
    ? { type: HUB_ACCEPTED, status: 'False', ...refusal }
    : { type: HUB_ACCEPTED, status: 'True', reason: 'HubClusterAdminAccepted', message: 'Accepted by hub cluster admin' };

/** The name becomes that of a namespace. */
const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Namespaces that are somebody else's: nobody is let into them. */
const RESERVED = /^(default$|ztp-install$|kube-|openshift-|open-cluster-management)/;

function refusalOf({ metadata, spec }: ManagedCluster, hubNamespace: string): Pick<Condition, 'reason' | 'message'> | undefined {
  if (!NAMESPACE_NAME.test(metadata.name) || RESERVED.test(metadata.name) || metadata.name === hubNamespace)
    return {
      reason: 'Error',
      message: `metadata.name ${JSON.stringify(metadata.name)} cannot be the name of the cluster's namespace: create the ManagedCluster under a name of at most 63 lower-case letters, digits and "-" that is not default, ztp-install or ${hubNamespace} (the hub's own) and begins with none of kube-, openshift- and open-cluster-management`,
    };
  if (spec?.hubAcceptsClient !== true)
    return { reason: 'HubClusterAdminDenied', message: 'Denied by hub cluster admin: set spec.hubAcceptsClient to true to let it in' };
  return undefined;
}

/** A cluster that never had a lease, or was created anew under its old name, has as long as one whose agent has just gone. */
function leaseEnd({ metadata, spec }: ManagedCluster, renewTime: string | undefined): number {
  const renewed = Date.parse(renewTime ?? '');
  const created = Date.parse(metadata.creationTimestamp ?? '');
  const from = Math.max(Number.isNaN(renewed) ? 0 : renewed, Number.isNaN(created) ? 0 : created);
  return from + (spec?.leaseDurationSeconds || DEFAULT_LEASE_SECONDS) * MISSED_LEASES * 1000;
}

const Taints = z.array(z.looseObject({ key: z.string(), effect: z.string() })).catch([]);

/** RHACM's label that placements select by, and the taints that keep placements away from what is not available. */
function editsOf(
  { metadata, spec }: ManagedCluster,
  available: Condition['status'] | undefined,
  now: number,
): RegistrationVerdict['edits'] {
  const taints = Taints.parse(spec?.taints ?? []);
  const wanted = available === 'True' ? undefined : available === 'False' ? UNAVAILABLE : UNREACHABLE;
  const others = taints.filter(({ key }) => key === wanted || (key !== UNREACHABLE && key !== UNAVAILABLE));
  const isTainted = wanted === undefined || others.some(({ key }) => key === wanted);
  const next = isTainted ? others : [...others, { key: wanted, effect: 'NoSelect', timeAdded: conditionTime(now) }];
  const isLabelled = metadata.labels?.name === metadata.name;
  const areRight = isTainted && others.length === taints.length;
  if (isLabelled && areRight) return undefined;
  return {
    ...(!isLabelled && { metadata: { labels: { name: metadata.name } } }),
    ...(!areRight && { spec: { taints: next.length > 0 ? next : null } }),
  };
}
