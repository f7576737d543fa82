import type { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import type { Node } from '@flotilla/api/core';
import type { Machine, MachineConfigPool, MachineSet } from '@flotilla/api/machine';

/** Observation of a cluster at one moment. Its objects are shared, so nobody may change them. */
export interface ObservedCluster {
  readonly clusterVersion: ClusterVersion;
  readonly clusterOperators: readonly ClusterOperator[];
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  /** MachineSets of namespace `openshift-machine-api`, like the machines. */
  readonly machineSets: readonly MachineSet[];
  readonly machines: readonly Machine[];
}
