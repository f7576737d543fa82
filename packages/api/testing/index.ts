export { buildClusterGroupUpgrade, buildOpenDefinition, type OpenKind } from './builders.ts';
export { kstatus } from './kstatus.ts';
export { machineCrds } from './machine-crds.ts';
export { nulledFields } from './nulls.ts';
export { policyCrds } from './policy-crds.ts';
