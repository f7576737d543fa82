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

/** Annotation of a Node: `Working` while its configuration is changed. */
export const MACHINE_CONFIG_STATE = 'machineconfiguration.openshift.io/state';
/** Taint of a cordoned Node. */
export const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';
