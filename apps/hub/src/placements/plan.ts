import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type HubWrite, isEnding, keepsObjects, type PolicyRef, planPlacements, upgradeIndexValue } from '@flotilla/rollout';
import { BY_NAME_LABEL, BY_UPGRADE_NAME, type RolloutCaches } from '../caches.ts';
import { decidedBy } from '../lookups.ts';

/** Caches that the Placements of an upgrade are planned from. */
export type PlanCaches = Pick<RolloutCaches, 'placements' | 'bindings' | 'decisions' | 'clusters'>;

/**
 * Plans the missing writes of an upgrade's Placements and PlacementBindings. An ended upgrade enforces nothing: kept objects are emptied, others are
 * deleted.
 */
export function placementWrites(upgrade: ClusterGroupUpgrade, caches: PlanCaches, talmStrict = false): HubWrite[] {
  const { namespace = '', name } = upgrade.metadata;
  const value = upgradeIndexValue({ namespace, name });
  const existing = {
    placements: caches.placements.byIndex(BY_UPGRADE_NAME, value),
    bindings: caches.bindings.byIndex(BY_UPGRADE_NAME, value),
    decided: decidedBy(caches),
    hasNamesake: (cluster: string) => caches.clusters.byIndex(BY_NAME_LABEL, cluster).some(({ metadata }) => metadata.name !== cluster),
    talmStrict,
  };
  if (isEnding(upgrade) && !keepsObjects(upgrade)) return planPlacements(upgrade, [], existing);
  const writes = planPlacements(upgrade, enforcedPolicies(upgrade), existing);
  return isEnding(upgrade) ? writes.filter(({ verb }) => verb === 'patch') : writes;
}

/** True when the binding of a policy is there: its Placement enforces it. */
export const isBound = ({ metadata }: ClusterGroupUpgrade, policy: string, { bindings }: Pick<RolloutCaches, 'bindings'>): boolean =>
  bindings
    .byIndex(BY_UPGRADE_NAME, upgradeIndexValue({ namespace: metadata.namespace ?? '', name: metadata.name }))
    .some(({ metadata: { deletionTimestamp }, subjects }) => !deletionTimestamp && subjects?.some(({ name }) => name === policy));

/** Policies with a Placement: all that the status names for the upgrade, once their names are stored there. */
const enforcedPolicies = ({ status }: ClusterGroupUpgrade): readonly PolicyRef[] =>
  status?.placements ? (status.managedPoliciesForUpgrade ?? []) : [];
