/** The parts of Placements and PlacementDecisions by which it is known where a policy is meant. Pure. */
import { Label, managedFieldsOf, type ObjectMeta, type Ref } from '@flotilla/api';
import type { Placement, PlacementDecision } from '@flotilla/api/ocm';

/** Leaves what tells whom a Placement selects, and since when. */
export function trimPlacement({ metadata, spec, status }: Placement): Placement {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp } = metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion, generation, deletionTimestamp },
    spec: { tolerations: spec?.tolerations },
    ...(status && { status: { conditions: status.conditions, numberOfSelectedClusters: status.numberOfSelectedClusters } }),
    editedAt: editedAt(metadata),
  };
}

/** The latest write of anything but the status. */
function editedAt(metadata: ObjectMeta): number | undefined {
  const times = managedFieldsOf(metadata).flatMap(({ subresource, time }) => (subresource === 'status' ? [] : [Date.parse(time ?? '')]));
  return times.length > 0 && times.every(Number.isFinite) ? Math.max(...times) : undefined;
}

/** The Placement that a decision is about, by the label by which the propagator reads it, too. */
export const placementOf = ({ metadata }: PlacementDecision): Ref => ({
  namespace: metadata.namespace,
  name: metadata.labels?.[Label.placement] ?? '',
});
