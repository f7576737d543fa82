import { z } from 'zod';
import { readable } from '../foreign.ts';
import { KubeObject, LabelSelector, resource } from '../kubernetes.ts';

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

const MachineSetSchema = KubeObject.extend({
  spec: z.looseObject({
    replicas: z.number().nullish(),
    selector: LabelSelector.optional(),
    template: z
      .looseObject({
        metadata: z.looseObject({ labels: z.record(z.string(), z.string()).optional() }).optional(),
        spec: z.unknown().optional(),
      })
      .optional(),
  }),
  status: readable(z.looseObject({ replicas: z.number().default(0), readyReplicas: z.number().default(0) })),
});
/** A set of equal Machines. */
export type MachineSet = z.output<typeof MachineSetSchema>;
export const MachineSet = resource('machine.openshift.io/v1beta1', 'MachineSet', 'machinesets', true, MachineSetSchema);

const MachineSchema = KubeObject.extend({
  status: readable(z.looseObject({ phase: z.string().optional(), nodeRef: z.looseObject({ name: z.string() }).nullish() })),
});
/** A machine of the cluster. */
export type Machine = z.output<typeof MachineSchema>;
export const Machine = resource('machine.openshift.io/v1beta1', 'Machine', 'machines', true, MachineSchema);

const PoolSchema = KubeObject.extend({
  spec: readable(
    z.looseObject({
      paused: z.boolean().optional(),
      configuration: z.looseObject({ name: z.string().optional() }).optional(),
      machineConfigSelector: readable(LabelSelector),
    }),
  ),
  status: readable(
    z.looseObject({
      machineCount: z.number().default(0),
      updatedMachineCount: z.number().default(0),
      degradedMachineCount: z.number().optional(),
      configuration: z.looseObject({ name: z.string().optional() }).optional(),
      conditions: readable(z.array(z.looseObject({ type: z.string(), status: z.string(), message: z.string().optional() }))),
    }),
  ),
});
const MACHINE_CONFIGURATION = 'machineconfiguration.openshift.io/v1';
/** Nodes with the same configuration. */
export type MachineConfigPool = z.output<typeof PoolSchema>;
export const MachineConfigPool = resource(MACHINE_CONFIGURATION, 'MachineConfigPool', 'machineconfigpools', false, PoolSchema);

const PinnedImageSetSchema = KubeObject.extend({
  spec: readable(z.looseObject({ pinnedImages: z.array(z.looseObject({ name: z.string() })) })),
});
/** Images that the nodes of a pool pull and pin; its failure shows in the conditions of nodes and pool. */
export type PinnedImageSet = z.output<typeof PinnedImageSetSchema>;
export const PinnedImageSet = resource(MACHINE_CONFIGURATION, 'PinnedImageSet', 'pinnedimagesets', false, PinnedImageSetSchema);

const MachineConfigNodeSchema = KubeObject.extend({
  spec: readable(z.looseObject({ pool: z.looseObject({ name: z.string() }) })),
  status: readable(
    z.looseObject({
      conditions: readable(z.array(z.looseObject({ type: z.string(), status: z.string(), message: z.string().optional() }))),
      pinnedImageSets: readable(z.array(z.looseObject({ name: z.string(), currentGeneration: z.number().optional() }))),
    }),
  ),
});
/** State of a node's configuration and of its pinned image sets; of the name of the node. */
export type MachineConfigNode = z.output<typeof MachineConfigNodeSchema>;
export const MachineConfigNode = resource(MACHINE_CONFIGURATION, 'MachineConfigNode', 'machineconfignodes', false, MachineConfigNodeSchema);

const FileIntegritySchema = KubeObject.extend({});
/** Watch over the files of nodes. */
export type FileIntegrity = z.output<typeof FileIntegritySchema>;
export const FileIntegrity = resource('fileintegrity.openshift.io/v1alpha1', 'FileIntegrity', 'fileintegrities', true, FileIntegritySchema);
