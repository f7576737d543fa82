/**
 * Whether what a manifest reports is of its object as it is now. A stock work agent reads values back right after applying, before any
 * controller has looked: under the work's new generation it tells the readiness of the old version (spec/ocm 4.3). So the object's own
 * generations are read back in the same look, and values count once the status is of the latest one. Pure.
 */
import type { FeedbackValue, ManifestConfig, ManifestStatus, ManifestWorkSpec } from '@flotilla/api/ocm';

const GENERATION = 'flotilla.io/generation';
const OBSERVED = 'flotilla.io/observedGeneration';
const RULE = {
  type: 'JSONPaths',
  jsonPaths: [
    { name: GENERATION, path: '.metadata.generation' },
    { name: OBSERVED, path: '.status.observedGeneration' },
  ],
};

/** Kinds whose controllers always say which generation they have seen: until they do, they have not looked at all. */
const ALWAYS_OBSERVED = new Set(['Deployment', 'DaemonSet', 'StatefulSet', 'ReplicaSet']);

/** A work's spec whose every manifest that is read back reports its generations too. What an object does not have stays out of its report. */
export function withGenerations(spec: ManifestWorkSpec): ManifestWorkSpec {
  const { manifestConfigs } = spec;
  if (!manifestConfigs?.some(isReadBack)) return spec;
  return {
    ...spec,
    manifestConfigs: manifestConfigs.map((config) =>
      isReadBack(config) ? { ...config, feedbackRules: [...(config.feedbackRules ?? []), RULE] } : config,
    ),
  };
}

const isReadBack = ({ feedbackRules }: ManifestConfig): boolean => (feedbackRules?.length ?? 0) > 0;

/**
 * What is still waited for before the values of a manifest count; undefined when they do. Of a kind that says nothing of the generation
 * its status is of, and of a work that does not ask, the values count as they stand: nobody can tell.
 */
export function findStaleness({ resourceMeta, statusFeedback }: ManifestStatus): string | undefined {
  const values = statusFeedback?.values ?? [];
  const [generation, observed] = [integerOf(values, GENERATION), integerOf(values, OBSERVED)];
  if (generation === undefined) return undefined;
  const at = `manifest ${resourceMeta.ordinal}`;
  if (observed === undefined) {
    const isWorkload = resourceMeta.group === 'apps' && ALWAYS_OBSERVED.has(resourceMeta.kind ?? '');
    return isWorkload ? `no controller has looked at generation ${generation} of ${at} yet` : undefined;
  }
  return observed >= generation ? undefined : `the status of ${at} is of generation ${observed}, its object is at ${generation}`;
}

const integerOf = (values: readonly FeedbackValue[], wanted: string): number | undefined =>
  values.find(({ name }) => name === wanted)?.fieldValue.integer;
