/** Names around machines and their configuration that clusters rely on (spec/muo 7). */

/** Namespace of all Machines and MachineSets. */
export const MACHINE_NAMESPACE = 'openshift-machine-api';

/** Labels of Machines, MachineSets and Nodes. */
export const MachineLabel = {
  /** `"true"` on what is there for the time of an upgrade only. */
  upgrade: 'upgrade.managed.openshift.io',
  /** On a Machine and in the selector of its MachineSet: the name of that. */
  machineSet: 'machine.openshift.io/cluster-api-machineset',
  /** Pool of machines that a MachineSet belongs to. */
  pool: 'hive.openshift.io/machine-pool',
  /** On a Node, with or without a value. */
  master: 'node-role.kubernetes.io/master',
  controlPlane: 'node-role.kubernetes.io/control-plane',
  worker: 'node-role.kubernetes.io/worker',
  infra: 'node-role.kubernetes.io/infra',
} as const;

/** Annotations of a Node that its machine config daemon goes by. */
export const MachineConfigAnnotation = {
  /** How the daemon is: one of `MachineConfigState`. */
  state: 'machineconfiguration.openshift.io/state',
  /** Why it is Degraded or Unreconcilable, for people. */
  reason: 'machineconfiguration.openshift.io/reason',
  /** Name of the configuration that the Node has. */
  current: 'machineconfiguration.openshift.io/currentConfig',
  /** Name of the one that it shall have. */
  desired: 'machineconfiguration.openshift.io/desiredConfig',
} as const;
/** States of a machine config daemon. */
export const MachineConfigState = {
  done: 'Done',
  working: 'Working',
  /** Something failed, such as a drain that took an hour. It goes on trying, and stays in this state until it is Done. */
  degraded: 'Degraded',
  /** The configuration cannot be had from the one that the Node has. */
  unreconcilable: 'Unreconcilable',
} as const;
/** Taint of a cordoned Node. */
export const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';
