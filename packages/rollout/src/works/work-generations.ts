/**
 * Judges whether the values that a manifest reports are of its object as it is now. A stock work agent reads values back right after
 * applying, before any controller has looked. Under the work's new generation it then tells the readiness of the old version (spec/ocm 4.3).
 * So the object's own generations are read back in the same look. Values count once the status, or the condition a value is of, is of the
 * latest one. Pure.
 */
import type { FeedbackValue, ManifestConfig, ManifestStatus, ManifestWorkSpec } from '@flotilla/api/ocm';

const GENERATION = 'flotilla.io/generation';
const OBSERVED = 'flotilla.io/observedGeneration';
const PATHS: readonly JsonPath[] = [
  { name: GENERATION, path: '.metadata.generation' },
  { name: OBSERVED, path: '.status.observedGeneration' },
];

type FeedbackRules = NonNullable<ManifestConfig['feedbackRules']>;
type JsonPath = NonNullable<FeedbackRules[number]['jsonPaths']>[number];

/** True for a value that only the hub reads. @param name of a feedback value */
export const isGeneration = (name: string): boolean => name === GENERATION || name === OBSERVED || name.startsWith(`${OBSERVED}/`);

/** Name of the generation of the condition that a value is read of. */
const observedBy = (value: string): string => `${OBSERVED}/${value}`;

/** Kinds whose controllers always say which generation they have seen: until they do, they have not looked at all. */
const ALWAYS_OBSERVED = new Set(['Deployment', 'DaemonSet', 'StatefulSet', 'ReplicaSet']);

/** A work's spec whose every manifest that is read back reports its generations too. A field that an object does not have stays out of its report. */
export function withGenerations(spec: ManifestWorkSpec): ManifestWorkSpec {
  const { manifestConfigs } = spec;
  if (!manifestConfigs?.some(isReadBack)) return spec;
  return {
    ...spec,
    manifestConfigs: manifestConfigs.map((config) =>
      isReadBack(config) ? { ...config, feedbackRules: withRule(config.feedbackRules ?? []) } : config,
    ),
  };
}

const withRule = (rules: FeedbackRules): FeedbackRules => [
  ...rules,
  { type: 'JSONPaths', jsonPaths: [...PATHS, ...rules.flatMap(({ jsonPaths }) => jsonPaths ?? []).flatMap(generationPath)] },
];

/** The generation of a condition stands beside the field that a value is read of. */
function generationPath({ name, path, version }: JsonPath): JsonPath[] {
  const condition = /^(.*\.conditions\[.*\])\.\w+$/.exec(path)?.[1];
  return condition === undefined
    ? []
    : [{ name: observedBy(name), path: `${condition}.observedGeneration`, ...(version !== undefined && { version }) }];
}

const isReadBack = ({ feedbackRules }: ManifestConfig): boolean => (feedbackRules?.length ?? 0) > 0;

/** Generation that a value is of: the object's latest, an earlier one with a sentence that says so, or an unknown one. */
type Freshness = { readonly kind: 'current' | 'undated' } | { readonly kind: 'stale'; readonly message: string };

/** Judges one value of a manifest. Where both the status and the condition a value is of say their generation, the older one counts. */
export function judgeFreshness({ resourceMeta, statusFeedback }: ManifestStatus, value: string): Freshness {
  const values = statusFeedback?.values ?? [];
  const generation = integerOf(values, GENERATION);
  if (generation === undefined) return { kind: 'undated' };
  const at = `manifest ${resourceMeta.ordinal}`;
  const told = [OBSERVED, observedBy(value)].map((name) => integerOf(values, name)).filter((each) => each !== undefined);
  if (told.length === 0) {
    const isWorkload = resourceMeta.group === 'apps' && ALWAYS_OBSERVED.has(resourceMeta.kind ?? '');
    return isWorkload
      ? { kind: 'stale', message: `no controller has looked at generation ${generation} of ${at} yet` }
      : { kind: 'undated' };
  }
  const observed = Math.min(...told);
  if (observed >= generation) return { kind: 'current' };
  return { kind: 'stale', message: `the status of ${at} is of generation ${observed}, its object is at ${generation}` };
}

function integerOf(values: readonly FeedbackValue[], wanted: string): number | undefined {
  const integer = values.find(({ name }) => name === wanted)?.fieldValue.integer;
  return integer === undefined ? undefined : Number(integer);
}
