/** Annotations under our prefix that this hub does not read: a typo, or a newer hub's. Silence would open a gate that was meant shut. Pure. */
import { Annotation, type ObjectMeta } from '@flotilla/api';
import { type ClusterGroupUpgrade, explain, type PreCachingConfig } from '@flotilla/api/ran';

const PREFIX = 'flotilla.io/';

/** Annotations of a window, by its parts. */
export const WINDOW_KEYS = {
  start: Annotation.windowStart,
  end: Annotation.windowEnd,
  schedule: Annotation.windowSchedule,
  duration: Annotation.windowDuration,
  timezone: Annotation.windowTimezone,
} as const;

/** Those of a ClusterGroupUpgrade. */
const OF_UPGRADES: readonly string[] = [
  ...Object.values(WINDOW_KEYS),
  Annotation.paused,
  Annotation.pausedReason,
  Annotation.retryAt,
  Annotation.retryClusters,
  Annotation.retryOf,
  Annotation.plan,
  Annotation.membership,
  Annotation.waves,
  Annotation.waveMin,
  Annotation.wavePatience,
  Annotation.proofWithin,
  Annotation.pins,
];

/** Those of a PreCachingConfig. */
const OF_CONFIGS = [
  Annotation.bandwidth,
  Annotation.nodeSelector,
  Annotation.nodeTolerations,
  Annotation.nodePatience,
  Annotation.absentNodes,
];

/** Kinds whose annotations are mistaken for those of another; those of other kinds are spelt unlike them. */
const OWNERS = [
  { keys: OF_UPGRADES, kind: 'the ClusterGroupUpgrade' },
  { keys: OF_CONFIGS, kind: 'the PreCachingConfig' },
  { keys: [Annotation.hold], kind: 'the ManagedCluster' },
];

/** The first annotation of an upgrade that is not known, with the fix. */
export const findUnknownAnnotation = ({ metadata }: Pick<ClusterGroupUpgrade, 'metadata'>): string | undefined =>
  describeUnknown(metadata, OF_UPGRADES, '');

/** The same of a PreCachingConfig, which has one. */
export const findUnknownConfigAnnotation = ({ metadata }: Pick<PreCachingConfig, 'metadata'>): string | undefined =>
  describeUnknown(metadata, OF_CONFIGS, ` on PreCachingConfig ${metadata.namespace}/${metadata.name}`, 'a field of its spec or ');

/**
 * The first annotation under our prefix that is not known, with the fix.
 * @param where follows the key in the sentence
 * @param besides what else may be meant, before the known ones, where none of them is near
 */
export function describeUnknown(
  { annotations = {} }: Pick<ObjectMeta, 'annotations'>,
  known: readonly string[],
  where: string,
  besides = '',
): string | undefined {
  const stray = Object.keys(annotations)
    .toSorted()
    .find((key) => key.startsWith(PREFIX) && !known.includes(key));
  if (stray === undefined) return undefined;
  return explain('UnknownAnnotation', `${stray.slice(0, MOST_SHOWN)}${where} is not known`, { known: suggest(stray, known, besides) });
}

/** A key has at most 317 characters, of which a typo needs fewer. */
const MOST_SHOWN = 100;

/** The same key where another kind has it; the nearest key when it is near; else the nearest three, after what else may be meant. */
function suggest(stray: string, known: readonly string[], besides: string): string {
  const owner = OWNERS.find(({ keys }) => keys.some((key) => key === stray));
  if (owner) return `${stray} on ${owner.kind}`;
  const ranked = known
    .map((key) => ({ key, distance: distance(stray.slice(0, MOST_SHOWN), key) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [nearest] = ranked;
  if (nearest && nearest.distance <= NEAR) return nearest.key;
  const most = ranked.slice(0, 3).map(({ key }) => key);
  return `${besides}${most.join(' or ')}`;
}

/** Edits that a typo takes at most. */
const NEAR = 5;

/** Insertions, deletions and replacements that make one text the other (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries())
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}
