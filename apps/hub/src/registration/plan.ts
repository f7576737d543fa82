import { type Condition, conditionTime, findCondition, isJsonObject, isSameJson } from '@flotilla/api';
import { CLUSTER_AVAILABLE, leaseSecondsOf, type ManagedCluster } from '@flotilla/api/ocm';
import { type AccessObject, clusterAccess, clusterLease, clusterNamespace } from './access.ts';
import { conditionsOf, type DenialText } from './status.ts';

const UNREACHABLE = 'cluster.open-cluster-management.io/unreachable';
const UNAVAILABLE = 'cluster.open-cluster-management.io/unavailable';

/** Missed renewals after which a spoke is lost. */
const MISSED_LEASES = 5;

/** Facts that decide a registration. */
interface Registration {
  readonly cluster: ManagedCluster;
  /** Last renewal of the Lease by the clock of the hub's server; undefined without a Lease. */
  readonly renewTime: string | undefined;
  /** Namespace of the hub itself. */
  readonly hubNamespace: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Decided state of a ManagedCluster. */
export interface RegistrationVerdict {
  readonly isAccepted: boolean;
  /** Whole list of conditions; undefined when nothing changes. */
  readonly conditions: Condition[] | undefined;
  /** Merge patch of labels and taints; undefined when nothing changes. */
  readonly edits: { readonly metadata?: object; readonly spec?: object } | undefined;
  /** Expiry of the lease, in milliseconds since the epoch; undefined for an expired one. */
  readonly leaseEndsAt: number | undefined;
}

/** Decides whether one cluster is accepted, alive and open for placements. Pure. */
export function decideRegistration({ cluster, renewTime, hubNamespace, now }: Registration): RegistrationVerdict {
  const conditions = cluster.status?.conditions ?? [];
  const refusal = refusalOf(cluster, hubNamespace);
  const endsAt = leaseEnd(cluster, renewTime);
  const wanted = conditionsOf(conditions, { denial: refusal, hasJoined: renewTime !== undefined, isLost: now >= endsAt }, now);
  return {
    isAccepted: refusal === undefined,
    conditions: isSameJson(wanted, conditions) ? undefined : wanted,
    edits: refusal ? undefined : editsOf(cluster, findCondition(wanted, CLUSTER_AVAILABLE)?.status, now),
    leaseEndsAt: now < endsAt ? endsAt : undefined,
  };
}

/** Lists the objects that an accepted cluster's agent lacks, in the order of creation. Pure. */
export const planAccess = (cluster: string, isInOrder: (wanted: AccessObject) => boolean): AccessObject[] =>
  [clusterNamespace(cluster), clusterLease(cluster), ...clusterAccess(cluster)].filter((wanted) => !isInOrder(wanted));

/** The name becomes that of a namespace. */
const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Namespaces of other programs: no spoke's agent may enter them. */
const RESERVED = /^(default$|ztp-install$|kube-|openshift-|open-cluster-management)/;

function refusalOf({ metadata, spec }: ManagedCluster, hubNamespace: string): DenialText | undefined {
  if (!NAMESPACE_NAME.test(metadata.name) || RESERVED.test(metadata.name) || metadata.name === hubNamespace)
    return {
      reason: 'Error',
      message: `metadata.name ${JSON.stringify(metadata.name)} cannot be the name of the cluster's namespace: create the ManagedCluster under a name of at most 63 lower-case letters, digits and "-" that is not default, ztp-install or ${hubNamespace} (the hub's own) and begins with none of kube-, openshift- and open-cluster-management`,
    };
  if (spec?.hubAcceptsClient !== true)
    return { reason: 'HubClusterAdminDenied', message: 'Denied by hub cluster admin: set spec.hubAcceptsClient to true to let it in' };
  return undefined;
}

/** Expiry of a lease. A cluster without a renewal since its creation gets the full time, even when an older one of its name had a lease. */
function leaseEnd({ metadata, spec }: ManagedCluster, renewTime: string | undefined): number {
  const renewed = Date.parse(renewTime ?? '');
  const created = Date.parse(metadata.creationTimestamp ?? '');
  const from = Math.max(Number.isNaN(renewed) ? 0 : renewed, Number.isNaN(created) ? 0 : created);
  return from + leaseSecondsOf({ spec }) * MISSED_LEASES * 1000;
}

const keyOf = (taint: unknown): unknown => (isJsonObject(taint) ? taint.key : undefined);

/** Patches RHACM's label for placements, and the taints that keep placements off unavailable clusters. */
function editsOf(
  { metadata, spec }: ManagedCluster,
  available: Condition['status'] | undefined,
  now: number,
): RegistrationVerdict['edits'] {
  // Taints of others stay as they are, whatever they have.
  const taints: readonly unknown[] = Array.isArray(spec?.taints) ? spec.taints : [];
  const wanted = available === 'True' ? undefined : available === 'False' ? UNAVAILABLE : UNREACHABLE;
  const others = taints.filter((taint) => keyOf(taint) === wanted || (keyOf(taint) !== UNREACHABLE && keyOf(taint) !== UNAVAILABLE));
  const isTainted = wanted === undefined || others.some((taint) => keyOf(taint) === wanted);
  const next = isTainted ? others : [...others, { key: wanted, effect: 'NoSelect', timeAdded: conditionTime(now) }];
  const isLabelled = metadata.labels?.name === metadata.name;
  const areRight = isTainted && others.length === taints.length;
  if (isLabelled && areRight) return undefined;
  return {
    ...(!isLabelled && { metadata: { labels: { name: metadata.name } } }),
    ...(!areRight && { spec: { taints: next.length > 0 ? next : null } }),
  };
}
