/** Replicated policies, as far as upgrades ask of them. Pure. */
import { Annotation, Label } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
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
