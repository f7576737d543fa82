import { isJsonObject } from '@flotilla/api';
import { quoted } from '../errors.ts';
import { enabledCapabilities, knownCapabilities } from '../inclusion/capabilities.ts';
import { featureSets, InclusionAnnotation, partManifests, releaseFeatureGates } from '../inclusion/inclusion.ts';
import { objectsAt } from '../json-values.ts';
import { type Manifest, textOfId } from '../payload/manifest.ts';
import { type Finding, findingAt, type LintSource } from './source.ts';

/** Lists whose entries servers tell apart by a field. */
const KEYS: Readonly<Record<string, string>> = {
  env: 'name',
  containers: 'name',
  initContainers: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  webhooks: 'name',
  imagePullSecrets: 'name',
};
/** Findings in one object: a broken one would have thousands. */
const MOST_IN_OBJECT = 20;

/** Entries of a list that have the key of another: a server takes some of them, and which one counts is its own affair. */
export function* checkEntries(source: LintSource): Generator<Finding> {
  for (const manifest of source.manifests)
    for (const { path, key, value } of doubledEntries('', manifest.object).slice(0, MOST_IN_OBJECT))
      yield findingAt(source, manifest, {
        level: 'warning',
        rule: 'entry',
        message: `${path} has two entries with ${key} ${quoted(value)}; remove one of them`,
        near: [value],
      });
}

interface DoubledEntry {
  readonly path: string;
  readonly key: string;
  readonly value: string;
}

function doubledEntries(path: string, value: unknown): DoubledEntry[] {
  if (Array.isArray(value)) return value.flatMap((entry: unknown, index) => doubledEntries(`${path}[${index}]`, entry));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([field, below]) => {
    const at = path === '' ? field : `${path}.${field}`;
    return [...doubledIn(at, field, below), ...doubledEntries(at, below)];
  });
}

function doubledIn(path: string, field: string, list: unknown): DoubledEntry[] {
  const key = KEYS[field];
  if (key === undefined || !Array.isArray(list)) return [];
  const values = objectsAt(list).flatMap((entry) => (typeof entry[key] === 'string' ? [entry[key]] : []));
  const doubled = values.filter((value, index) => values.indexOf(value) !== index);
  return [...new Set(doubled)].map((value) => ({ path, key, value }));
}

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
