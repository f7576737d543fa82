import { CLUSTER_VERSION_NAME, type ClusterVersion } from '@flotilla/api/config';
import { UPGRADE_CONFIG_NAME, type UpgradeConfig } from '@flotilla/api/managed';
import type { ObservedCluster, ObservedMachines } from '@flotilla/upgrade';
import type { Caches } from '../../caches.ts';
import type { OwnWrites } from '../../own-writes.ts';

/** What this process wrote and the caches may not show yet. */
export interface Written {
  readonly upgradeConfigs: OwnWrites<UpgradeConfig>;
  readonly clusterVersions: OwnWrites<ClusterVersion>;
}

/** The UpgradeConfig that is acted upon; undefined when there is none. */
export const observeUpgradeConfig = (caches: Caches, written: Written, namespace: string): UpgradeConfig | undefined =>
  written.upgradeConfigs.newest(caches.upgradeConfigs.get({ namespace, name: UPGRADE_CONFIG_NAME }));

/** The cluster as of now; undefined when it has no ClusterVersion. Asks the API server nothing. */
export function observeCluster(caches: Caches, written: Written): ObservedCluster | undefined {
  const clusterVersion = written.clusterVersions.newest(caches.clusterVersions.get({ name: CLUSTER_VERSION_NAME }));
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
