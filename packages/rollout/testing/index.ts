/** Builders of what a rollout reads. Everything here is for tests. */

export { openGates } from './gate-builders.ts';
export { buildChild, buildPolicy, clusterVersion } from './policy-builders.ts';
export { buildCluster, buildClusterGroupUpgrade, buildWork, SPOKE, UPGRADE } from './spoke-builders.ts';
