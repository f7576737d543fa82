import { namesAt, objectAt, objectsAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';
import { exclusionOf, InclusionAnnotation } from './inclusion.ts';

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
