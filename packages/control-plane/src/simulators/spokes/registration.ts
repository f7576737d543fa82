import { conditionTime, type KubeObject, type Resource } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { CLUSTER_AVAILABLE, ClusterClaim, ManagedCluster } from '@flotilla/api/ocm';
import { type Client, isAlreadyExists } from '@flotilla/runtime';

const AT_ONCE = 24;

/** Options of a registration. */
export interface RegistrationOptions {
  /** Labels of the ManagedClusters besides `name`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Report them available; default true. */
  readonly available?: boolean;
  /** Claim `transports.flotilla.io` of the agent; default: none, as for stock ones. */
  readonly transports?: string;
  /** Nodes that its agent counts; default one. */
  readonly nodes?: number;
}

/** Creates hub namespaces and ManagedClusters for spokes, as a registration would; what exists stays. */
export async function registerSpokes(client: Client, names: readonly string[], options: RegistrationOptions = {}): Promise<void> {
  const left = names[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const name of left) await registerSpoke(client, name, options);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function registerSpoke(
  client: Client,
  name: string,
  { labels, available = true, transports, nodes = 1 }: RegistrationOptions,
): Promise<void> {
  const meta = { name, labels: { 'open-cluster-management.io/cluster-name': name } };
  await ensure(client, Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: meta });
  await ensure(client, ManagedCluster, {
    apiVersion: ManagedCluster.apiVersion,
    kind: ManagedCluster.kind,
    // Placements of a rollout select by the label `name`.
    metadata: { name, labels: { name, ...labels } },
    spec: { hubAcceptsClient: true, leaseDurationSeconds: 60 },
  });
  if (!available) return;
  const condition = {
    type: CLUSTER_AVAILABLE,
    status: 'True',
    reason: 'ManagedClusterAvailable',
    message: 'Managed cluster is available',
    // A fleet that has run for a while: what is decided of a cluster that has just come is waited for.
    lastTransitionTime: conditionTime(Date.now() - 3_600_000),
  };
  const clusterClaims = [
    { name: ClusterClaim.nodes, value: `${nodes} amd64 containerd://2.1.4` },
    ...(transports === undefined ? [] : [{ name: ClusterClaim.transports, value: transports }]),
  ];
  await client.patch(
    ManagedCluster,
    { name },
    { status: { conditions: [condition], clusterClaims } },
    { type: 'merge', subresource: 'status' },
  );
}

async function ensure(client: Client, kind: Resource, object: KubeObject): Promise<void> {
  try {
    await client.create(kind, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
