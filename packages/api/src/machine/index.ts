export { FileIntegrity, Machine, MachineConfigPool, MachineSet } from './kinds.ts';
export { MACHINE_NAMESPACE, MachineConfigAnnotation, MachineConfigState, MachineLabel, UNSCHEDULABLE_TAINT } from './names.ts';
