import { isJsonObject } from '@flotilla/api';
import { quoted } from '../errors.ts';
import { fileGroupOf } from '../graph/grouping.ts';
import { objectAt, objectsAt, textAt } from '../json-values.ts';
import { fileNameOf, type Manifest } from '../payload/manifest.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource, type ManifestFinding } from './source.ts';

/** True for the manifest of a ClusterOperator, in any version of its API. */
export const isClusterOperator = ({ group, kind }: Manifest): boolean => group === 'config.openshift.io' && kind === 'ClusterOperator';

/** Checks that an update can wait for each ClusterOperator (spec/cvo 6). */
export function* checkClusterOperators(source: LintSource): Generator<Finding> {
  const operators = source.manifests.filter(isClusterOperator);
  for (const manifest of operators)
    for (const rule of [specAndVersions, operatorVersion, relatedObjects, afterItsWorkload])
      for (const finding of rule(manifest, source)) yield findingAt(source, manifest, finding);
}

function* specAndVersions({ object, namespace }: Manifest): Generator<ManifestFinding> {
  if (!isJsonObject(object.spec))
    yield { level: 'warning', rule: 'CO-1', message: 'has no spec; write spec: {}, without which its CustomResourceDefinition refuses it' };
  if (namespace !== '') yield { rule: 'CO-1', message: 'has a namespace; a ClusterOperator is in none', near: ['namespace'] };
  if (versionsOf(object).length === 0)
    yield {
      rule: 'CO-1',
      message: 'lists no versions in status.versions: an update that comes to it fails',
      near: ['versions', 'status', 'kind'],
    };
}

function* operatorVersion({ object }: Manifest, { version }: LintSource): Generator<ManifestFinding> {
  const versions = versionsOf(object);
  if (versions.length === 0) return;
  const near = ['versions'];
  const own = versions.find(({ name }) => name === 'operator');
  if (!own) yield { rule: 'CO-2', message: 'lists no version with the name operator', near };
  else if (version !== undefined && own.version !== version)
    yield {
      rule: 'CO-2',
      message: `lists the version ${quoted(own.version)} of its operator, but the release is ${version}: an update waits for what its operator must report`,
      near: [own.version, 'versions'],
    };
  const unfinished = versions.find(({ version: text }) => text.includes('0.0.1-snapshot'));
  if (unfinished && own !== unfinished)
    yield {
      rule: 'CO-2',
      message: `the version of ${quoted(unfinished.name)} is a placeholder that the build of a release replaces`,
      near: ['0.0.1-snapshot'],
    };
  const twice = versions.find(({ name }, index) => versions.findIndex((other) => other.name === name) < index);
  if (twice) yield { rule: 'CO-2', message: `lists the version ${quoted(twice.name)} twice`, near };
}

function* relatedObjects({ object }: Manifest): Generator<ManifestFinding> {
  const given = objectAt(object.status).relatedObjects;
  const near = ['relatedObjects', 'status'];
  if (!Array.isArray(given) || given.length === 0) {
    yield { level: 'warning', rule: 'CO-14', message: 'has no status.relatedObjects: nothing of it is gathered when it fails', near };
    return;
  }
  const objects = given.map(objectAt);
  const incomplete = objects.findIndex(({ group, resource }) => typeof group !== 'string' || !resource);
  if (incomplete >= 0) yield { rule: 'CO-14', message: `status.relatedObjects[${incomplete}] needs group and resource`, near };
  const unnamed = objects.findIndex(({ name }) => typeof name !== 'string');
  if (unnamed >= 0 && unnamed !== incomplete)
    yield {
      level: 'warning',
      rule: 'CO-14',
      message: `status.relatedObjects[${unnamed}] has no name; write an empty one for all of the resource`,
      near,
    };
  const namespaces = objects.filter(({ group, resource }) => group === '' && resource === 'namespaces').length;
  if (namespaces === 0 || namespaces === objects.length)
    yield {
      level: 'warning',
      rule: 'CO-14',
      message: `status.relatedObjects ${namespaces === 0 ? 'has no namespace' : 'has nothing but namespaces'}; name a namespace and one more object`,
      near,
    };
}

/** In an update a component's files are applied one after the other: a ClusterOperator before its workload is waited for in vain. */
function* afterItsWorkload(operator: Manifest, { manifests }: LintSource): Generator<ManifestFinding> {
  const group = fileGroupOf(operator);
  if (!group) return;
  const at = manifests.indexOf(operator);
  const workloads = [...manifests.entries()].filter(
    ([, { group: api, kind, file, annotations }]) =>
      api === 'apps' &&
      (kind === 'Deployment' || kind === 'DaemonSet') &&
      annotations?.['release.openshift.io/delete'] === undefined &&
      fileGroupOf({ file })?.component === group.component,
  );
  const [, after] = workloads.find(([index]) => index > at) ?? [];
  if (after && workloads.every(([index]) => index > at))
    yield {
      rule: 'CO-16',
      message: `comes before ${after.kind} ${after.name} in ${fileNameOf(after)}: an update waits here for what only that can report; let its file sort after`,
    };
}

function versionsOf({ status }: Readonly<Record<string, unknown>>): { name: string; version: string }[] {
  const versions = objectsAt(objectAt(status).versions).filter(({ name }) => typeof name === 'string');
  return versions.map(({ name, version }) => ({ name: textAt(name), version: textAt(version) }));
}
