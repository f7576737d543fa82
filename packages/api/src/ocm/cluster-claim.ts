import { z } from 'zod';
import { foreign } from '../foreign.ts';
import type { ManagedCluster } from './managed-cluster.ts';

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
