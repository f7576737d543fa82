import type { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import type { Node } from '@flotilla/api/core';
import type { Machine, MachineConfigPool, MachineSet } from '@flotilla/api/machine';

/** What is seen of a cluster, as of one moment. Shared objects: nobody changes them. */
export interface ObservedCluster {
  readonly clusterVersion: ClusterVersion;
  readonly clusterOperators: readonly ClusterOperator[];
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  /** Of the namespace `openshift-machine-api`, like the machines. */
  readonly machineSets: readonly MachineSet[];
  readonly machines: readonly Machine[];
}
