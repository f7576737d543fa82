import { CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { Node } from '@flotilla/api/core';
import { MACHINE_NAMESPACE, Machine, MachineConfigAnnotation, MachineConfigPool, MachineSet } from '@flotilla/api/machine';
import { UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';

/** Everything the operator watches. Pods and budgets are read when a drain is late, not watched: there may be very many. */
export interface Caches {
  readonly upgradeConfigs: WatchCache<UpgradeConfig>;
  readonly clusterVersions: WatchCache<ClusterVersion>;
  readonly clusterOperators: WatchCache<ClusterOperator>;
  readonly pools: WatchCache<MachineConfigPool>;
  readonly nodes: WatchCache<Node>;
  readonly machineSets: WatchCache<MachineSet>;
  readonly machines: WatchCache<Machine>;
}

/** Makes the caches; whoever watches them starts them. Kinds that a cluster may lack are empty until it serves them. */
export function createCaches(client: Client, namespace: string, surroundings: WatchSurroundings): Caches {
  // A server that has lost a kind must not look like a cluster without it: its workers would count as updated.
  const optional = { ...surroundings, optional: 'until-served' } as const;
  const machines = { ...optional, namespace: MACHINE_NAMESPACE };
  return {
    upgradeConfigs: new WatchCache(client, UpgradeConfig, {
      ...surroundings,
      namespace,
      fieldSelector: `metadata.name=${UPGRADE_CONFIG_NAME}`,
    }),
    clusterVersions: new WatchCache(client, ClusterVersion, { ...optional, fieldSelector: `metadata.name=${CLUSTER_VERSION_NAME}` }),
    clusterOperators: new WatchCache(client, ClusterOperator, optional),
    pools: new WatchCache(client, MachineConfigPool, optional),
    nodes: new WatchCache(client, Node, { ...surroundings, transform: trimmed }),
    machineSets: new WatchCache(client, MachineSet, machines),
    machines: new WatchCache(client, Machine, machines),
  };
}

/** A node lists its images and volumes, which are most of it; the rest is all that is read. */
function trimmed({ metadata, spec, status, ...rest }: Node): Node {
  const { state, current, desired } = MachineConfigAnnotation;
  const kept = Object.entries(metadata.annotations ?? {}).filter(([name]) => name === state || name === current || name === desired);
  return {
    ...rest,
    metadata: { ...metadata, annotations: Object.fromEntries(kept) },
    spec: spec && { unschedulable: spec.unschedulable, taints: spec.taints },
    status: status && { conditions: status.conditions },
  };
}
