/** Copies of policies, and objects that place policies, as far as upgrades ask of them. Pure. */
import { Annotation, Label, managedFieldsOf, type ObjectMeta, type Ref } from '@flotilla/api';
import type { Placement, PlacementDecision, Policy } from '@flotilla/api/ocm';
import { searchText } from '../values/json-value.ts';

/** Selector of replicated policies; all others are root policies. */
export const CHILD_POLICIES = Label.rootPolicy;

/** Keeps a replicated policy's name, wave and action, and whether it holds an unresolved hub template. */
export function trimChild(child: Policy): Policy {
  // The search is bounded: a copy beyond the bounds counts as unresolved.
  const unresolved = searchText(child.spec?.['policy-templates'], '{{hub') !== 'absent';
  const { name, namespace, labels, resourceVersion, uid, annotations } = child.metadata;
  const wave = annotations?.[Annotation.deployWave];
  return {
    metadata: {
      name,
      namespace,
      labels,
      resourceVersion,
      uid,
      ...(wave !== undefined && { annotations: { [Annotation.deployWave]: wave } }),
    },
    spec: { remediationAction: child.spec?.remediationAction, 'policy-templates': unresolved ? ['{{hub'] : [] },
  };
}

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
