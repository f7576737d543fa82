import type { ComponentOverride } from '@flotilla/api/config';
import { quoted } from '../errors.ts';
import { namesAt, objectAt, objectsAt } from '../json-values.ts';
import type { Manifest, ManifestId } from '../payload/manifest.ts';
import { type Capabilities, capabilityRefusal } from './capabilities.ts';

/** Properties of a cluster that filter the manifests of a payload. An absent one does not filter. */
export interface InclusionFilter {
  /** Manifests with `exclude.release.openshift.io/<this>: "true"` are left out. */
  readonly excludeIdentifier?: string;
  /** Feature set of the cluster; empty means `Default`. */
  readonly featureSet?: string;
  readonly featureGates?: ReadonlySet<string>;
  readonly majorVersion?: number;
  /** Profile of the cluster: manifests need `include.release.openshift.io/<this>: "true"`. */
  readonly profile?: string;
  readonly capabilities?: Capabilities;
  readonly overrides?: readonly ComponentOverride[];
}

type InclusionRule =
  | ('annotations' | 'exclude' | 'feature-set-and-gate' | 'feature-set' | 'feature-gate')
  | ('major-version' | 'profile' | 'capability' | 'override');

interface Exclusion {
  readonly rule: InclusionRule;
  readonly message: string;
}

type Annotations = Readonly<Record<string, string>>;
type Check = (manifest: Manifest, annotations: Annotations, filter: InclusionFilter) => string | undefined;

/** Annotations that decide whether a manifest is applied. */
export const InclusionAnnotation = {
  featureSet: 'release.openshift.io/feature-set',
  featureGate: 'release.openshift.io/feature-gate',
  majorVersion: 'release.openshift.io/major-version',
  capability: 'capability.openshift.io/name',
  include: (profile: string) => `include.release.openshift.io/${profile}`,
  exclude: (identifier: string) => `exclude.release.openshift.io/${identifier}`,
} as const;

const { featureSet, featureGate, majorVersion, capability } = InclusionAnnotation;

/** Rules in the order in which they are asked; the first that refuses decides. */
const checks: readonly (readonly [rule: InclusionRule, check: Check])[] = [
  [
    'exclude',
    (_, annotations, { excludeIdentifier }) => {
      const key = InclusionAnnotation.exclude(excludeIdentifier ?? '');
      return excludeIdentifier !== undefined && annotations[key] === 'true' ? `${key}=true` : undefined;
    },
  ],
  [
    'feature-set-and-gate',
    (_, annotations, filter) => {
      if (filter.featureSet === undefined || filter.featureGates === undefined) return undefined;
      const [set, gate] = [annotations[featureSet], annotations[featureGate]];
      if (set === undefined || gate === undefined) return undefined;
      return `both feature set and feature gate annotations are present: ${featureSet}=${set}, ${featureGate}=${gate}`;
    },
  ],
  [
    'feature-set',
    (_, annotations, { featureSet: wanted }) => {
      const value = annotations[featureSet];
      return wanted === undefined || value === undefined ? undefined : featureSetRefusal(featureSet, value, wanted);
    },
  ],
  [
    'feature-gate',
    (_, annotations, { featureGates }) => {
      const value = annotations[featureGate];
      return featureGates === undefined || value === undefined ? undefined : featureGateRefusal(value, featureGates);
    },
  ],
  [
    'major-version',
    (manifest, annotations, { majorVersion: wanted }) => {
      const value = annotations[majorVersion];
      return wanted === undefined || value === undefined ? undefined : majorVersionRefusal(manifest, majorVersion, value, wanted);
    },
  ],
  [
    'profile',
    (_, annotations, { profile }) => {
      if (profile === undefined) return undefined;
      const key = InclusionAnnotation.include(profile);
      const value = annotations[key];
      if (value === undefined) return `${key} unset`;
      return value === 'true' ? undefined : `unrecognized value ${key}=${value}`;
    },
  ],
  [
    'capability',
    (_, annotations, { capabilities }) =>
      capabilities === undefined ? undefined : capabilityRefusal(annotations[capability], capabilities),
  ],
  ['override', (manifest, _, { overrides = [] }) => (overrideOf(manifest, overrides)?.unmanaged ? 'overridden' : undefined)],
];

/** Why a manifest is left out; undefined when it is applied. */
export function exclusionOf(manifest: Manifest, filter: InclusionFilter): Exclusion | undefined {
  const { annotations } = manifest;
  if (annotations === undefined) return { rule: 'annotations', message: 'no annotations' };
  for (const [rule, check] of checks) {
    const message = check(manifest, annotations, filter);
    if (message !== undefined) return { rule, message };
  }
  return undefined;
}

/** The first entry for the object; of an object without a namespace that of the entry does not count. */
function overrideOf(manifest: Manifest, overrides: readonly ComponentOverride[]): ComponentOverride | undefined {
  return overrides.find(
    ({ group, kind, namespace, name }) =>
      group === manifest.group &&
      kind === manifest.kind &&
      name === manifest.name &&
      (manifest.namespace === '' || namespace === manifest.namespace),
  );
}

/** A manifest that is left out, and why. */
export interface ExcludedManifest extends Exclusion {
  readonly manifest: Manifest;
}

/** Parts manifests into those that are applied and those that are not, each in load order. */
export function partManifests(
  manifests: readonly Manifest[],
  filter: InclusionFilter,
): { readonly included: readonly Manifest[]; readonly excluded: readonly ExcludedManifest[] } {
  const included: Manifest[] = [];
  const excluded: ExcludedManifest[] = [];
  for (const manifest of manifests) {
    const exclusion = exclusionOf(manifest, filter);
    if (exclusion) excluded.push({ manifest, ...exclusion });
    else included.push(manifest);
  }
  return { included, excluded };
}

interface FeatureAudience {
  readonly profile: string;
  readonly featureSet: string;
  readonly majorVersion: number;
}

/**
 * Feature gates that a release turns on for a feature set, from its FeatureGate manifests; a cluster's own list is made of these.
 * Undefined when the release has none for this profile and set.
 */
export function releaseFeatureGates(
  manifests: readonly Manifest[],
  { profile, featureSet, majorVersion }: FeatureAudience,
): ReadonlySet<string> | undefined {
  for (const manifest of manifests) {
    if (manifest.group !== 'config.openshift.io' || manifest.kind !== 'FeatureGate') continue;
    if (manifest.annotations?.[InclusionAnnotation.include(profile)] === undefined) continue;
    if (exclusionOf(manifest, { featureSet, majorVersion }) !== undefined) continue;
    const enabled = enabledIn(manifest.object.status);
    if (enabled !== undefined) return enabled;
  }
  return undefined;
}

function enabledIn(status: unknown): ReadonlySet<string> | undefined {
  const [first] = objectsAt(objectAt(status).featureGates);
  return Array.isArray(first?.enabled) ? new Set(namesAt(first.enabled)) : undefined;
}

/** Feature sets that a manifest may name, in order. */
export const featureSets = ['CustomNoUpgrade', 'Default', 'DevPreviewNoUpgrade', 'OKD', 'TechPreviewNoUpgrade'] as const;
const known: readonly string[] = featureSets;

/** Why a manifest is not for a feature set. Its list has no blanks between the names. */
function featureSetRefusal(annotation: string, value: string, wanted: string): string | undefined {
  const listed = value.split(',');
  const unknown = listed.find((name) => !known.includes(name));
  if (unknown !== undefined) return `unrecognized value ${quoted(unknown)} in ${annotation}=${value}; known values are: ${known.join(',')}`;
  const name = wanted === '' ? 'Default' : wanted;
  return listed.includes(name) ? undefined : `${quoted(name)} is required, and ${annotation}=${[...new Set(listed)].sort().join(',')}`;
}

/** Why a manifest is not for a set of feature gates: all that it names must be on, those with a `-` off. */
function featureGateRefusal(value: string, enabled: ReadonlySet<string>): string | undefined {
  for (const entry of value.split(',')) {
    const gate = entry.trim();
    if (gate.startsWith('-')) {
      if (enabled.has(gate.slice(1))) return `feature gate ${gate.slice(1)} is enabled but manifest requires it to be disabled`;
    } else if (!enabled.has(gate)) return `feature gate ${gate} is required but not enabled`;
  }
  return undefined;
}

/** Why a manifest is not for a major version: it lists those it is for, and with a `-` those it is not for. */
export function majorVersionRefusal({ group, kind }: ManifestId, annotation: string, value: string, wanted: number): string | undefined {
  const isAllowed =
    (group === 'config.openshift.io' && kind === 'FeatureGate') ||
    (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition');
  if (!isAllowed) return `${annotation} is only allowed on FeatureGate and CustomResourceDefinition, not on ${kind}`;
  const entries = value.split(',').map((entry) => entry.trim());
  const wrong = entries.find((entry) => !/^-?\d{1,15}$/.test(entry));
  if (wrong !== undefined) return `invalid major version ${quoted(wrong)} in ${annotation}=${value}`;
  const versions = (isExcluded: boolean) =>
    new Set(entries.filter((entry) => entry.startsWith('-') === isExcluded).map((entry) => Math.abs(Number(entry))));
  return refusal(versions(false), versions(true), wanted, `${annotation}=${value}`);
}

function refusal(included: ReadonlySet<number>, excluded: ReadonlySet<number>, wanted: number, list: string): string | undefined {
  const both = [...included].filter((version) => excluded.has(version));
  if (both.length > 0) return `major version ${both.join(', ')} is both included and excluded in ${list}`;
  if (included.has(wanted)) return undefined;
  if (excluded.has(wanted)) return `major version ${wanted} is excluded by ${list}`;
  return included.size > 0 ? `major version ${wanted} is not included in ${list}` : undefined;
}
