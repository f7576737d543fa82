import { ClusterGroupUpgrade } from './ran/cluster-group-upgrade.ts';

/** A ClusterGroupUpgrade with the real schema's defaults; `spec` is merged over one cluster and maxConcurrency 1. */
export function buildClusterGroupUpgrade(
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Record<string, unknown> = {},
): ClusterGroupUpgrade {
  return ClusterGroupUpgrade.schema.parse({
    apiVersion: ClusterGroupUpgrade.apiVersion,
    kind: ClusterGroupUpgrade.kind,
    metadata: { name, namespace: 'default', uid: `uid-${name}`, generation: 1, ...metadata },
    spec: { remediationStrategy: { maxConcurrency: 1 }, ...spec },
  });
}
