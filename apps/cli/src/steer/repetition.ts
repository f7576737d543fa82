import { Annotation, type ObjectMeta } from '@flotilla/api';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { WINDOW_KEYS } from '@flotilla/rollout';

/** Annotations by which the repetition begins as the first did. */
const KEPT = [
  ...Object.values(WINDOW_KEYS),
  Annotation.blockingCompletionMode,
  Annotation.blockingClusterFiltering,
  Annotation.proofWithin,
  Annotation.pins,
];

/**
 * The same upgrade for these clusters alone. Labels are not taken along: tools that own the first one by them would delete what they do not know.
 * @param taken names of upgrades that are there
 */
export function repetitionOf(
  metadata: ObjectMeta,
  spec: ClusterGroupUpgradeSpec,
  clusters: readonly string[],
  taken: ReadonlySet<string>,
): ClusterGroupUpgrade {
  const { namespace = '', name, annotations = {} } = metadata;
  const base = name.replace(/-retry-\d+$/, '');
  let number = 1;
  while (taken.has(`${base}-retry-${number}`)) number += 1;
  const { clusterSelector: _, clusterLabelSelectors: __, remediationStrategy: strategy, ...rest } = spec;
  const canaries = strategy.canaries?.filter((canary) => clusters.includes(canary));
  return {
    metadata: {
      namespace,
      name: `${base}-retry-${number}`,
      annotations: {
        ...Object.fromEntries(KEPT.flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]]]))),
        [Annotation.retryOf]: `${namespace}/${name}`,
      },
    },
    spec: { ...rest, clusters: [...clusters], remediationStrategy: { ...strategy, canaries } },
  };
}
