/** Selects the changes that matter to the upgrade. Progress messages, heartbeats and the operator's own writes do not. */
import type { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import type { Node } from '@flotilla/api/core';
import type { MachineConfigPool } from '@flotilla/api/machine';
import type { UpgradeConfig } from '@flotilla/api/managed';
import { type Watch, watch, whenChanged } from '@flotilla/runtime';
import type { Caches } from '../../caches.ts';

type Facts<T> = (object: T) => unknown;

const configFacts: Facts<UpgradeConfig> = ({ metadata, spec }) => [
  metadata.uid,
  metadata.labels,
  metadata.annotations,
  metadata.deletionTimestamp,
  spec,
];
const versionFacts: Facts<ClusterVersion> = ({ spec, status }) => [
  spec,
  status?.desired,
  status?.history,
  status?.availableUpdates,
  status?.conditionalUpdates,
  status?.conditions?.filter(({ type }) => type === 'Upgradeable').map(({ status: is, reason, message }) => [is, reason, message]),
];
const operatorFacts: Facts<ClusterOperator> = ({ status }) =>
  status?.conditions?.filter(({ type }) => type === 'Degraded' || type === 'Available').map(({ type, status: is }) => [type, is]);
const poolFacts: Facts<MachineConfigPool> = ({ spec, status }) => [
  spec?.paused,
  spec?.configuration?.name,
  status?.configuration?.name,
  status?.machineCount,
  status?.updatedMachineCount,
  status?.degradedMachineCount,
];
const nodeFacts: Facts<Node> = ({ spec, status }) => [
  spec?.unschedulable,
  spec?.taints,
  status?.conditions?.filter(({ type }) => type === 'Ready').map(({ status: is }) => is),
];

/** The UpgradeConfig itself: what its writer says in the status is no news to it. */
export const upgradeConfigWatch = (caches: Caches): Watch => watch(caches.upgradeConfigs, { select: whenChanged(configFacts) });

/** Operators flap by the dozen while a cluster changes: they are looked at together. */
const GATHER_MS = 500;

/** Watches the objects of the cluster that an upgrade depends on. @param key of the UpgradeConfig */
export function clusterWatches(caches: Caches, key: string): Watch[] {
  const enqueue = () => [key];
  return [
    watch(caches.clusterVersions, { select: whenChanged(versionFacts), enqueue }),
    watch(caches.clusterOperators, { select: whenChanged(operatorFacts), enqueue, gatherMs: GATHER_MS }),
    watch(caches.pools, { select: whenChanged(poolFacts), enqueue }),
    watch(caches.nodes, { select: whenChanged(nodeFacts), enqueue, gatherMs: GATHER_MS }),
    watch(caches.machineSets, { enqueue }),
    watch(caches.machines, { enqueue }),
  ];
}
