import { isJsonObject } from '@flotilla/api';
import { namesOf } from '../errors.ts';
import type { Manifest } from '../payload/manifest.ts';
import { builtInScope } from './built-in-kinds.ts';
import type { Finding } from './finding.ts';
import { goneSince } from './gone-versions.ts';
import { findingAt, type LintSource } from './source.ts';

interface BroughtKind {
  scope: string;
  readonly versions: Set<string>;
}

/** Kinds that no server will know, versions that are not served, and objects without the namespace they need. */
export function* checkKinds(source: LintSource): Generator<Finding> {
  const brought = broughtKinds(source.manifests);
  for (const manifest of source.manifests) {
    const { group, kind, version, namespace } = manifest;
    const own = brought.get(`${group}/${kind}`);
    const scope = own?.scope ?? builtInScope(group, kind);
    const near = ['kind:', '"kind"'];
    if (scope === undefined)
      yield findingAt(source, manifest, {
        level: 'warning',
        rule: 'kind',
        message: `neither Kubernetes nor a CustomResourceDefinition of the payload knows ${kind} of ${group || 'the core group'}`,
        near,
      });
    else if (own && !own.versions.has(version))
      yield findingAt(source, manifest, {
        rule: 'kind',
        message: `the payload's CustomResourceDefinition serves ${namesOf(own.versions)}, not ${version}`,
        near: ['apiVersion'],
      });
    const gone = own ? undefined : goneSince(group, version, kind);
    if (gone)
      yield findingAt(source, manifest, {
        rule: 'version',
        message: `Kubernetes has not served ${group}/${version} of it since ${gone.since}; use ${gone.instead}`,
        near: ['apiVersion'],
      });
    if (scope === 'Namespaced' && namespace === '')
      yield findingAt(source, manifest, { rule: 'kind', message: 'has no metadata.namespace, which its kind needs', near: ['metadata'] });
  }
}

/** Kinds by group and name; of several definitions, one per feature set, what any of them serves. */
function broughtKinds(manifests: readonly Manifest[]): ReadonlyMap<string, BroughtKind> {
  const kinds = new Map<string, BroughtKind>();
  for (const { group, kind, object } of manifests) {
    if (group !== 'apiextensions.k8s.io' || kind !== 'CustomResourceDefinition' || !isJsonObject(object.spec)) continue;
    const { spec } = object;
    const names = isJsonObject(spec.names) ? spec.names : {};
    const key = `${String(spec.group)}/${String(names.kind)}`;
    const known = kinds.get(key) ?? { scope: String(spec.scope), versions: new Set<string>() };
    for (const version of Array.isArray(spec.versions) ? spec.versions : [])
      if (isJsonObject(version) && version.served === true) known.versions.add(String(version.name));
    kinds.set(key, known);
  }
  return kinds;
}
