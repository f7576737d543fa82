export { buildClusterGroupUpgrade, buildOpenDefinition, type OpenKind } from './builders.ts';
export { machineCrds } from './machine-crds.ts';
export { type FetchByClient, playRedirects, type RedirectCase, type RedirectOutcome, redirectsByRule } from './redirect-case.ts';
