import { namesOf } from '../errors.ts';
import { objectAt, objectsAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';
import { builtInScope } from './built-in-kinds.ts';
import type { Finding } from './finding.ts';
import { goneSince } from './gone-versions.ts';
import { definedKind } from './order.ts';
import { findingAt, type LintSource } from './source.ts';

interface BroughtKind {
  scope: string;
  readonly versions: Set<string>;
}

/** Kinds that no server will know, versions that are not served, and objects without the namespace they need, or with one that they do not have. */
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
    if (scope === 'Cluster' && namespace !== '')
      yield findingAt(source, manifest, {
        level: 'warning',
        rule: 'kind',
        message: `has metadata.namespace ${namespace}, which a kind without namespaces ignores; leave it out`,
        near: ['namespace:', '"namespace"'],
      });
  }
}

/** Kinds by group and name; of several definitions, one per feature set, what any of them serves. */
function broughtKinds(manifests: readonly Manifest[]): ReadonlyMap<string, BroughtKind> {
  const kinds = new Map<string, BroughtKind>();
  for (const manifest of manifests) {
    const key = definedKind(manifest);
    if (key === undefined) continue;
    const spec = objectAt(manifest.object.spec);
    const known = kinds.get(key) ?? { scope: String(spec.scope), versions: new Set<string>() };
    for (const { name, served } of objectsAt(spec.versions)) if (served === true) known.versions.add(String(name));
    kinds.set(key, known);
  }
  return kinds;
}
