/** Builders of what a rollout reads. Everything here is for tests. */

export { buildChild, buildPolicy } from './policies/policy-builders.ts';
export { buildCluster, buildClusterGroupUpgrade, buildWork, UPGRADE } from './spoke/spoke-builders.ts';
