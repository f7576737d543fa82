import { Label, refKey } from '@flotilla/api';
import { Placement, PlacementBinding, PlacementDecision } from '@flotilla/api/ocm';
import { PLACEMENT_APP, placementOf, upgradeIndexOf } from '@flotilla/rollout';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';

/** The watches of the objects that enforce policies. */
export interface PlacementCaches {
  readonly placements: WatchCache<Placement, typeof BY_UPGRADE_NAME>;
  readonly bindings: WatchCache<PlacementBinding, typeof BY_UPGRADE_NAME>;
  /** Decisions of all Placements: their labels do not tell those of upgrades. */
  readonly decisions: WatchCache<PlacementDecision, typeof BY_PLACEMENT>;
}

/** Index of Placements and PlacementBindings by the labels that name their upgrade (`upgradeIndexValue`). */
export const BY_UPGRADE_NAME = 'upgrade-name';

/** Index of PlacementDecisions by `namespace/name` of the Placement in their label, by which the propagator reads them, too. */
export const BY_PLACEMENT = 'placement';

/** Caches of Placements and PlacementBindings of upgrades, and of decisions. A hub without the policy framework has none of these kinds. */
export function placementCaches(client: Client, shared: WatchSurroundings): PlacementCaches {
  const ours = { ...shared, labelSelector: `${Label.app}=${PLACEMENT_APP}`, optional: true };
  const indexes = { [BY_UPGRADE_NAME]: (object: Placement | PlacementBinding) => [upgradeIndexOf(object)] };
  return {
    placements: new WatchCache(client, Placement, { ...ours, indexes }),
    bindings: new WatchCache(client, PlacementBinding, { ...ours, indexes }),
    decisions: new WatchCache(client, PlacementDecision, {
      ...shared,
      labelSelector: Label.placement,
      optional: true,
      transform: trimDecision,
      indexes: { [BY_PLACEMENT]: (decision: PlacementDecision) => [refKey(placementOf(decision))] },
    }),
  };
}

/** Clusters in the decisions of a Placement; undefined where the API server serves no decisions. */
export const decidedBy =
  ({ decisions }: Pick<PlacementCaches, 'decisions'>) =>
  ({ metadata }: Placement): ReadonlySet<string> | undefined =>
    decisions.present
      ? new Set(decisions.byIndex(BY_PLACEMENT, refKey(metadata)).flatMap(({ status }) => status?.decisions?.map(nameOf) ?? []))
      : undefined;

const nameOf = ({ clusterName }: { readonly clusterName: string }): string => clusterName;

/** Leaves the names of the clusters: a fleet may have decisions of many more Placements than those of upgrades. */
function trimDecision({ apiVersion, kind, metadata, status }: PlacementDecision): PlacementDecision {
  const { namespace, name, uid, resourceVersion, labels } = metadata;
  const decisions = status?.decisions?.map(({ clusterName }) => ({ clusterName }));
  const kept = { [Label.placement]: labels?.[Label.placement] ?? '' };
  return {
    apiVersion,
    kind,
    metadata: { namespace, name, uid, resourceVersion, labels: kept },
    ...(decisions && { status: { decisions } }),
  };
}
