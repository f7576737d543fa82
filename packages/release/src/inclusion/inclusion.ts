import type { ComponentOverride } from '@flotilla/api/config';
import { namesAt, objectAt, objectsAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';
import { type Capabilities, capabilityRefusal } from './capabilities.ts';
import { featureGateRefusal, featureSetRefusal, majorVersionRefusal } from './refusals.ts';

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
