import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type HubWrite, isEnding, keepsObjects, type PolicyRef, planPlacements, upgradeIndexValue } from '@flotilla/rollout';
import { BY_UPGRADE_NAME, type PlacementCaches } from './caches.ts';

/**
 * Plans the missing writes of an upgrade's Placements and PlacementBindings. An ended upgrade enforces nothing: kept objects are emptied, others are
 * deleted.
 */
export function placementWrites(upgrade: ClusterGroupUpgrade, caches: PlacementCaches, talmStrict = false): HubWrite[] {
  const { namespace = '', name } = upgrade.metadata;
  const value = upgradeIndexValue({ namespace, name });
  const existing = {
    placements: caches.placements.byIndex(BY_UPGRADE_NAME, value),
    bindings: caches.bindings.byIndex(BY_UPGRADE_NAME, value),
    talmStrict,
  };
  if (isEnding(upgrade) && !keepsObjects(upgrade)) return planPlacements(upgrade, [], existing);
  const writes = planPlacements(upgrade, enforcedPolicies(upgrade), existing);
  return isEnding(upgrade) ? writes.filter(({ verb }) => verb === 'patch') : writes;
}

/** Policies with a Placement: all that the status names for the upgrade, once their names are stored there. */
const enforcedPolicies = ({ status }: ClusterGroupUpgrade): readonly PolicyRef[] =>
  status?.placements ? (status.managedPoliciesForUpgrade ?? []) : [];
