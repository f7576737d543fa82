import { enabledCapabilities, knownCapabilities } from '../inclusion/capabilities.ts';
import { InclusionAnnotation, partManifests, releaseFeatureGates } from '../inclusion/inclusion.ts';
import { featureSets } from '../inclusion/refusals.ts';
import { type Manifest, textOfId } from '../payload/manifest.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource } from './source.ts';

const INCLUDE = InclusionAnnotation.include('');
/** Profiles that are tried; a release has three or four. */
const MOST_PROFILES = 16;

/** Manifests of the same object that the same cluster takes: each pass would write both, one after the other. */
export function* checkDuplicates(source: LintSource): Generator<Finding> {
  const told = new Set<string>();
  for (const profile of profilesOf(source.manifests))
    for (const featureSet of featureSets)
      for (const [first, ...others] of takenTwice(source, profile, featureSet))
        for (const other of others) {
          const key = `${first?.file}:${first?.line}:${other.file}:${other.line}`;
          if (first === undefined || told.has(key)) continue;
          told.add(key);
          const message = `is also in ${first.file}:${first.line}, and a cluster with profile ${profile} and feature set ${featureSet} takes both`;
          yield findingAt(source, other, { rule: 'duplicate', message, near: ['name:', '"name"'] });
        }
}

function takenTwice({ manifests, version }: LintSource, profile: string, featureSet: string): Manifest[][] {
  const majorVersion = Number(version?.split('.', 1)[0] ?? 4);
  const featureGates = releaseFeatureGates(manifests, { profile, featureSet, majorVersion }) ?? new Set<string>();
  const capabilities = enabledCapabilities({ additional: knownCapabilities(featureGates), featureGates });
  const { included } = partManifests(manifests, { profile, featureSet, majorVersion, featureGates, capabilities });
  return [...Map.groupBy(included, textOfId).values()].filter((same) => same.length > 1);
}

function profilesOf(manifests: readonly Manifest[]): string[] {
  const keys = manifests.flatMap(({ annotations }) => Object.keys(annotations ?? {}).filter((key) => key.startsWith(INCLUDE)));
  return [...new Set(keys)].map((key) => key.slice(INCLUDE.length)).slice(0, MOST_PROFILES);
}
