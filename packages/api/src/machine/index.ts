export { machineCrds } from './crds.ts';
export { FileIntegrity, Machine, MachineConfigPool, MachineSet } from './kinds.ts';
export { MACHINE_CONFIG_STATE, MACHINE_NAMESPACE, MachineLabel, UNSCHEDULABLE_TAINT } from './names.ts';
