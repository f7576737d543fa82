import { CLUSTER_VERSION_NAME } from '@flotilla/api/config';
import { UPGRADE_CONFIG_NAME, type UpgradeConfig } from '@flotilla/api/managed';
import type { ObservedCluster, ObservedMachines } from '@flotilla/upgrade';
import type { Caches } from '../../caches.ts';

/** The UpgradeConfig that is acted upon; undefined when there is none. */
export const observeUpgradeConfig = ({ upgradeConfigs }: Caches, namespace: string): UpgradeConfig | undefined =>
  upgradeConfigs.get({ namespace, name: UPGRADE_CONFIG_NAME });

/** The cluster as of now; undefined when it has no ClusterVersion. Asks the API server nothing. */
export function observeCluster(caches: Caches): ObservedCluster | undefined {
  const clusterVersion = caches.clusterVersions.get({ name: CLUSTER_VERSION_NAME });
  if (!clusterVersion) return undefined;
  return {
    clusterVersion,
    clusterOperators: caches.clusterOperators.list(),
    pools: caches.pools.list(),
    ...observeMachines(caches),
  };
}

/** The machines as of now. */
export const observeMachines = ({ nodes, machineSets, machines }: Caches): ObservedMachines => ({
  nodes: nodes.list(),
  machineSets: machineSets.list(),
  machines: machines.list(),
});
