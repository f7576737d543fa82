import { expect, test } from 'vitest';
import { z } from 'zod';
import type { CrdManifest } from '../crd.ts';
import { ranCrds } from './crds.ts';

interface Node {
  readonly properties?: Readonly<Record<string, Node>> | undefined;
  readonly items?: Node | undefined;
}
const Node: z.ZodType<Node> = z.lazy(() => z.looseObject({ properties: z.record(z.string(), Node).optional(), items: Node.optional() }));
const Served = z.looseObject({
  versions: z.tuple([
    z.looseObject({ schema: z.looseObject({ openAPIV3Schema: z.looseObject({ properties: z.looseObject({ spec: Node }) }) }) }),
  ]),
});

const fieldsOf = ({ properties = {}, items }: Node, at: string): string[] => [
  ...Object.entries(properties).flatMap(([name, node]) => [`${at}${name}`, ...fieldsOf(node, `${at}${name}.`)]),
  ...(items ? fieldsOf(items, at) : []),
];
const specOf = ({ spec }: CrdManifest): string[] =>
  fieldsOf(Served.parse(spec).versions[0].schema.openAPIV3Schema.properties.spec, '').toSorted();

/** Fields that every hub honours which refuses annotations under `flotilla.io/` that it does not know (`UnknownAnnotation`). */
const KNOWN = {
  ClusterGroupUpgrade:
    'actions actions.afterCompletion actions.afterCompletion.addClusterAnnotations actions.afterCompletion.addClusterLabels ' +
    'actions.afterCompletion.deleteClusterLabels actions.afterCompletion.deleteObjects actions.afterCompletion.removeClusterAnnotations ' +
    'actions.afterCompletion.removeClusterLabels actions.beforeEnable actions.beforeEnable.addClusterAnnotations ' +
    'actions.beforeEnable.addClusterLabels actions.beforeEnable.deleteClusterLabels actions.beforeEnable.removeClusterAnnotations ' +
    'actions.beforeEnable.removeClusterLabels backup batchTimeoutAction blockingCRs blockingCRs.name blockingCRs.namespace ' +
    'clusterLabelSelectors clusterLabelSelectors.matchExpressions clusterLabelSelectors.matchExpressions.key ' +
    'clusterLabelSelectors.matchExpressions.operator clusterLabelSelectors.matchExpressions.values clusterLabelSelectors.matchLabels ' +
    'clusterSelector clusters enable managedPolicies manifestWorkTemplates preCaching preCachingConfigRef preCachingConfigRef.name ' +
    'preCachingConfigRef.namespace remediationStrategy remediationStrategy.canaries remediationStrategy.maxConcurrency remediationStrategy.timeout',
  PreCachingConfig:
    'additionalImages excludePrecachePatterns overrides overrides.operatorsIndexes overrides.operatorsPackagesAndChannels ' +
    'overrides.platformImage overrides.preCacheImage spaceRequired',
} as const;

test.each(
  ranCrds().map((crd) => ({
    kind: z.looseObject({ names: z.object({ kind: z.enum(['ClusterGroupUpgrade', 'PreCachingConfig']) }).loose() }).parse(crd.spec).names
      .kind,
    crd,
  })),
)('an upgrade asks of a hub that it is rolled back to for nothing that this one would overlook: $kind', ({ kind, crd }) => {
  // An older hub prunes a new field in silence: give it as an annotation under flotilla.io/, which that hub refuses.
  expect(specOf(crd)).toEqual(KNOWN[kind].split(' '));
});
