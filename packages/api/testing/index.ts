export { buildClusterGroupUpgrade, buildOpenDefinition, type OpenKind } from './builders.ts';
export { machineCrds } from './machine-crds.ts';
