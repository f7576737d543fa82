import { z } from 'zod';
import type { ManagedCluster } from './managed-cluster.ts';

/** Claims of a ManagedCluster: what a spoke says of itself (spec/ocm 2.1). The first four are those of the fleet framework. */
export const ClusterClaim = {
  /** `v1.33.2` */
  kubeVersion: 'kubeversion.open-cluster-management.io',
  /** `OpenShift`, `MicroShift`, `K3s`, `RKE2`, `MicroK8s`, `EKS`, `GKE`, `AKS` or `Other`. */
  product: 'product.open-cluster-management.io',
  openshiftVersion: 'version.openshift.io',
  microshiftVersion: 'version.microshift.io',
  /** Nodes by architecture and runtime: `2 amd64 containerd://2.1.4, 1 arm64 cri-o://1.33.0`. */
  nodes: 'nodes.flotilla.io',
  /** How a job may come to the spoke, `actions` or `actions,works`; and `puller-account` where the agent makes that. */
  transports: 'transports.flotilla.io',
} as const;

/** Name of a claim. */
type ClusterClaimName = (typeof ClusterClaim)[keyof typeof ClusterClaim];

/**
 * In claim `transports.flotilla.io`: the agent makes the account that the puller runs under, so that no job has to bring it. It has no claim of its
 * own because an older agent leaves claims that it does not know, and replaces this one.
 */
export const PULLER_ACCOUNT = 'puller-account';

/** Claims that Flotilla's agent reports where no agent of the fleet framework does; those of others stay. */
export const AGENT_CLAIMS: readonly string[] = [
  ClusterClaim.kubeVersion,
  ClusterClaim.product,
  ClusterClaim.nodes,
  ClusterClaim.transports,
];

/** Longest value of a claim, in characters (spec/ocm 2.1). */
export const CLAIM_VALUE_CHARS = 1024;
/** A spoke writes them: beyond this they count as not said. */
const MOST_CLAIMS = 256;

const Claims = z.array(z.object({ name: z.string(), value: z.string() })).max(MOST_CLAIMS);

/** A claim of a cluster; undefined when the spoke does not say it, or says it so that it cannot be read. */
export function claimOf(cluster: Pick<ManagedCluster, 'status'> | undefined, name: ClusterClaimName): string | undefined {
  return Claims.safeParse(cluster?.status?.clusterClaims).data?.find((claim) => claim.name === name)?.value;
}

/** The transports that a spoke's agent says it serves; none where it does not say. */
export const claimedTransports = (cluster: Pick<ManagedCluster, 'status'> | undefined): readonly string[] =>
  claimOf(cluster, ClusterClaim.transports)?.split(',') ?? [];
