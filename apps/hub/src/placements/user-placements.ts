/** Watches of what places policies on clusters, written by the policies' authors; those of upgrades are in `caches.ts`. */
import { Label, refKey } from '@flotilla/api';
import { Placement, PlacementBinding } from '@flotilla/api/ocm';
import { PLACEMENT_APP, type PolicyWays, trimPlacement } from '@flotilla/rollout';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { BY_PLACEMENT, type PlacementCaches } from './caches.ts';

/** Index of PlacementBindings by their namespace. */
const BY_NAMESPACE = 'namespace';

/** The watches that tell for which clusters a policy is meant. */
export interface PolicyWayCaches {
  readonly policyBindings: WatchCache<PlacementBinding, typeof BY_NAMESPACE>;
  readonly policyPlacements: WatchCache<Placement>;
}

/** Caches of Placements and bindings. A hub without the policy framework has no such kinds. */
export function policyWayCaches(client: Client, shared: WatchSurroundings): PolicyWayCaches {
  const users = { ...shared, labelSelector: `${Label.app}!=${PLACEMENT_APP}`, optional: true };
  return {
    policyBindings: new WatchCache(client, PlacementBinding, {
      ...users,
      indexes: { [BY_NAMESPACE]: ({ metadata }: PlacementBinding) => [metadata.namespace ?? ''] },
    }),
    policyPlacements: new WatchCache(client, Placement, { ...users, transform: trimPlacement }),
  };
}

/** The same as decisions ask for them; undefined where the API server does not serve them. */
export function waysFrom(
  caches: PolicyWayCaches & Pick<PlacementCaches, 'decisions'>,
  cluster: PolicyWays['cluster'],
  now: number,
): PolicyWays | undefined {
  const { policyBindings, policyPlacements, decisions } = caches;
  if (!policyBindings.present || !policyPlacements.present || !decisions.present) return undefined;
  return {
    bindings: (namespace) => policyBindings.byIndex(BY_NAMESPACE, namespace),
    placement: (ref) => policyPlacements.get(ref),
    decisions: (ref) => decisions.byIndex(BY_PLACEMENT, refKey(ref)),
    cluster,
    now,
  };
}
