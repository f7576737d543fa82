import { z } from 'zod';
import { foreign, readable } from '../foreign.ts';
import { isJsonObject } from '../json.ts';
import { KubeObject, LabelSelector, resource } from '../kubernetes.ts';
import { choice, condition, labelSelector, list, object, text } from '../schema-parts.ts';
import { isBeyondReading, spokeConditions, spokeStatus } from './spoke-status.ts';

const Fields = KubeObject.extend({
  // An unreadable spec denies the cluster: no object may keep a right because its latest version is odd.
  spec: readable(z.looseObject({ hubAcceptsClient: readable(z.boolean()), leaseDurationSeconds: readable(z.number()) })),
  status: spokeStatus({ conditions: spokeConditions }),
  /** Some conditions exceed every bound and were left out, but still take room in the store. */
  hasUnread: z.boolean().optional(),
});
const Schema = z.preprocess((cluster) => {
  const status = isJsonObject(cluster) ? cluster.status : undefined;
  return isJsonObject(cluster) && isJsonObject(status) && isBeyondReading(status.conditions) ? { ...cluster, hasUnread: true } : cluster;
}, Fields);
/** A spoke on the hub (spec/ocm 2.1). Cluster-scoped; its hub namespace has the same name. */
export type ManagedCluster = z.output<typeof Schema>;
export const ManagedCluster = resource('cluster.open-cluster-management.io/v1', 'ManagedCluster', 'managedclusters', false, Schema);

const DEFAULT_LEASE_SECONDS = 60;

/** Duration of the lease of a cluster's agent, in seconds: the default where the cluster asks for none, or for no time at all (spec/ocm 2.1). */
export function leaseSecondsOf({ spec }: Pick<ManagedCluster, 'spec'>): number {
  const seconds = spec?.leaseDurationSeconds ?? 0;
  return seconds > 0 ? seconds : DEFAULT_LEASE_SECONDS;
}

/** Condition type for a living agent. */
export const CLUSTER_AVAILABLE = 'ManagedClusterConditionAvailable';
/** Condition type for an accepted agent. */
export const HUB_ACCEPTED = 'HubAcceptedManagedCluster';

/** Lease that the agent renews in the spoke's hub namespace (spec/ocm 2.1). */
export const AGENT_LEASE = 'managed-cluster-lease';
/** ServiceAccount in the spoke's hub namespace; an agent accepted by Flotilla itself holds its tokens. */
export const AGENT_ACCOUNT = 'spoke-agent';

/** Claims of a ManagedCluster, which its spoke reports (spec/ocm 2.1). The first four are those of the fleet framework. */
export const ClusterClaim = {
  /** `v1.33.2` */
  kubeVersion: 'kubeversion.open-cluster-management.io',
  /** `OpenShift`, `MicroShift`, `K3s`, `RKE2`, `MicroK8s`, `EKS`, `GKE`, `AKS` or `Other`. */
  product: 'product.open-cluster-management.io',
  openshiftVersion: 'version.openshift.io',
  microshiftVersion: 'version.microshift.io',
  /** Nodes by architecture and runtime: `2 amd64 containerd://2.1.4, 1 arm64 cri-o://1.33.0`. */
  nodes: 'nodes.flotilla.io',
  /** `SingleReplica` for a control plane of one node, from OpenShift's stock agent. */
  controlPlaneTopology: 'controlplanetopology.openshift.io',
  /** Supported transports of jobs, `actions` or `actions,works`; and `puller-account` where the agent creates that account. */
  transports: 'transports.flotilla.io',
} as const;

type ClusterClaimName = (typeof ClusterClaim)[keyof typeof ClusterClaim];

/**
 * Part of claim `transports.flotilla.io`: the agent creates the puller's account, so no job has to bring it. It has no claim of its own, because an
 * older agent keeps claims it does not know, but replaces this one.
 */
export const PULLER_ACCOUNT = 'puller-account';

/** Part of the same claim: the agent creates DaemonSet `pre-cache-nodes`, and the account of its pods. */
export const NODE_PULLERS = 'node-pullers';

/** Claims that Flotilla's agent reports where no agent of the fleet framework does; other claims stay. */
export const AGENT_CLAIMS: readonly string[] = [
  ClusterClaim.kubeVersion,
  ClusterClaim.product,
  ClusterClaim.nodes,
  ClusterClaim.transports,
];

/** Longest value of a claim, in characters (spec/ocm 2.1). */
export const CLAIM_VALUE_CHARS = 1024;
/** Bound of a spoke's claims; a longer list counts as absent. */
const MOST_CLAIMS = 256;

const Claims = foreign(z.array(z.object({ name: z.string(), value: z.string() })).max(MOST_CLAIMS));

/** Reads a claim of a cluster; undefined when it is missing or unreadable. */
export function claimOf(cluster: Pick<ManagedCluster, 'status'> | undefined, name: ClusterClaimName): string | undefined {
  return Claims.safeParse(cluster?.status?.clusterClaims).data?.find((claim) => claim.name === name)?.value;
}

/** Transports that a spoke's agent claims to serve; none without the claim. */
export const claimedTransports = (cluster: Pick<ManagedCluster, 'status'> | undefined): readonly string[] =>
  claimOf(cluster, ClusterClaim.transports)?.split(',') ?? [];

/** Nodes of one architecture and runtime. */
interface ClaimedNodes {
  readonly count: number;
  /** In Go's words. */
  readonly architecture: string;
  /** Name and version, as in `containerd 2.1.4`. */
  readonly runtime: string;
}

/** Nodes that a spoke's agent claims, the most frequent kind first; none without the claim. */
export function claimedNodes(cluster: Pick<ManagedCluster, 'status'> | undefined): readonly ClaimedNodes[] {
  const entries = claimOf(cluster, ClusterClaim.nodes)?.split(', ') ?? [];
  return entries.flatMap((entry) => {
    const [, count, architecture = '', name = '', version = ''] =
      /^(\d{1,6}) ([\w-]{1,32}) ([\w.-]{1,64}):\/\/(\S{1,64})$/.exec(entry) ?? [];
    return count === undefined ? [] : [{ count: Number(count), architecture, runtime: `${name} ${version}` }];
  });
}

const SETS = 'cluster.open-cluster-management.io/v1beta2';

const SetSchema = KubeObject.extend({
  spec: z
    .looseObject({
      clusterSelector: z.looseObject({ selectorType: z.string().nullish(), labelSelector: LabelSelector.nullish() }).nullish(),
    })
    .nullish(),
});
/** A set of clusters; bindings tell who may use it (spec/ocm 2.3). Cluster-scoped. */
export type ManagedClusterSet = z.output<typeof SetSchema>;
export const ManagedClusterSet = resource(SETS, 'ManagedClusterSet', 'managedclustersets', false, SetSchema);

const BindingSchema = KubeObject.extend({ spec: z.looseObject({ clusterSet: z.string().nullish() }).nullish() });
/** Lets its namespace use the clusters of a set (spec/ocm 2.3). */
export type ManagedClusterSetBinding = z.output<typeof BindingSchema>;
export const ManagedClusterSetBinding = resource(SETS, 'ManagedClusterSetBinding', 'managedclustersetbindings', true, BindingSchema);

/** Label of a ManagedCluster that puts it into a set of type `ExclusiveClusterSetLabel`. */
export const CLUSTER_SET_LABEL = 'cluster.open-cluster-management.io/clusterset';

const setStatus = object({ conditions: { ...list(condition), 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] } });

/** `spec` and `status` of ManagedClusterSet (spec/ocm 2.3). */
export const managedClusterSetSchema = {
  spec: {
    ...object({
      clusterSelector: {
        ...object({
          selectorType: { ...choice('ExclusiveClusterSetLabel', 'LabelSelector'), default: 'ExclusiveClusterSetLabel' },
          labelSelector,
        }),
        default: { selectorType: 'ExclusiveClusterSetLabel' },
      },
    }),
    default: { clusterSelector: { selectorType: 'ExclusiveClusterSetLabel' } },
  },
  status: setStatus,
};

/** `spec` and `status` of ManagedClusterSetBinding (spec/ocm 2.3). */
export const managedClusterSetBindingSchema = { spec: object({ clusterSet: { ...text, minLength: 1 } }), status: setStatus };
