/** Builders of what a rollout reads. Everything here is for tests. */

export { openGates } from './gates/gate-builders.ts';
export { buildChild, buildPolicy, clusterVersion } from './policies/policy-builders.ts';
export { buildCluster, buildClusterGroupUpgrade, buildWork, SPOKE, UPGRADE } from './spoke/spoke-builders.ts';
