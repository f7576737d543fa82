import { Label } from '@flotilla/api';
import { Placement, PlacementBinding } from '@flotilla/api/ocm';
import { PLACEMENT_APP, upgradeIndexOf } from '@flotilla/rollout';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';

/** The watches of the objects that enforce policies. */
export interface PlacementCaches {
  readonly placements: WatchCache<Placement, typeof BY_UPGRADE_NAME>;
  readonly bindings: WatchCache<PlacementBinding, typeof BY_UPGRADE_NAME>;
}

/** Index of Placements and PlacementBindings by the labels that name their upgrade (`upgradeIndexValue`). */
export const BY_UPGRADE_NAME = 'upgrade-name';

/** Caches of Placements and PlacementBindings of upgrades. A hub without the policy framework has neither kind. */
export function placementCaches(client: Client, shared: WatchSurroundings): PlacementCaches {
  const ours = { ...shared, labelSelector: `${Label.app}=${PLACEMENT_APP}`, optional: true };
  const indexes = { [BY_UPGRADE_NAME]: (object: Placement | PlacementBinding) => [upgradeIndexOf(object)] };
  return {
    placements: new WatchCache(client, Placement, { ...ours, indexes }),
    bindings: new WatchCache(client, PlacementBinding, { ...ours, indexes }),
  };
}
