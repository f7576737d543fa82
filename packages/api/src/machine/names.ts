/** Names around machines and their configuration that clusters rely on (spec/muo 7). */

/** Namespace of all Machines and MachineSets. */
export const MACHINE_NAMESPACE = 'openshift-machine-api';

/** Labels of Machines, MachineSets and Nodes. */
export const MachineLabel = {
  /** `"true"` on objects that exist only during an upgrade. */
  upgrade: 'upgrade.managed.openshift.io',
  /** On a Machine, and in the selector of its MachineSet: the MachineSet's name. */
  machineSet: 'machine.openshift.io/cluster-api-machineset',
  /** Machine pool of a MachineSet. */
  pool: 'hive.openshift.io/machine-pool',
  /** On a Node, with or without a value. */
  master: 'node-role.kubernetes.io/master',
  controlPlane: 'node-role.kubernetes.io/control-plane',
  worker: 'node-role.kubernetes.io/worker',
  infra: 'node-role.kubernetes.io/infra',
} as const;

/** Annotations of a Node that its machine config daemon reads and writes. */
export const MachineConfigAnnotation = {
  /** State of the daemon: one of `MachineConfigState`. */
  state: 'machineconfiguration.openshift.io/state',
  /** Cause of Degraded or Unreconcilable, for people. */
  reason: 'machineconfiguration.openshift.io/reason',
  /** Name of the Node's current configuration. */
  current: 'machineconfiguration.openshift.io/currentConfig',
  /** Name of the Node's desired configuration. */
  desired: 'machineconfiguration.openshift.io/desiredConfig',
} as const;
/** States of a machine config daemon. */
export const MachineConfigState = {
  done: 'Done',
  working: 'Working',
  /** A failure, such as a drain that took an hour. The daemon retries, and keeps this state until it is Done. */
  degraded: 'Degraded',
  /** The current configuration cannot change to the desired one. */
  unreconcilable: 'Unreconcilable',
} as const;
/** Taint of a cordoned Node. */
export const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';

/** Label by which pools select their PinnedImageSets and MachineConfigs. */
export const POOL_ROLE = 'machineconfiguration.openshift.io/role';
/** Condition of a MachineConfigNode, and of its pool, that cannot do what a PinnedImageSet asks. */
export const PINNED_SETS_DEGRADED = 'PinnedImageSetsDegraded';
