export { FileIntegrity, Machine, MachineConfigNode, MachineConfigPool, MachineSet, PinnedImageSet } from './kinds.ts';
export {
  MACHINE_NAMESPACE,
  MachineConfigAnnotation,
  MachineConfigState,
  MachineLabel,
  PINNED_SETS_DEGRADED,
  POOL_ROLE,
  UNSCHEDULABLE_TAINT,
} from './names.ts';
