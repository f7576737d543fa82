import { isJsonObject } from '@flotilla/api';
import { ManifestAnnotation } from '@flotilla/api/config';
import { fileGroupOf } from '../graph/grouping.ts';
import { objectAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource } from './source.ts';

/** Namespaces that every cluster has, or that the operator makes. */
const ALWAYS = new Set(['', 'default', 'kube-system', 'kube-public', 'kube-node-lease', 'openshift-cluster-version']);

/** Objects that come before what they need: an update waits at them for what it would only bring behind them. */
export function* checkOrder(source: LintSource): Generator<Finding> {
  const definitions = new Map<string, number>();
  const namespaces = new Map<string, number>();
  const manifests = source.manifests.map((manifest, index) => ({ manifest, index }));
  for (const { manifest, index } of manifests.filter((one) => !isDeleted(one.manifest)).toReversed()) {
    const defined = definedKind(manifest);
    if (defined !== undefined) definitions.set(defined, index);
    if (manifest.group === '' && manifest.kind === 'Namespace') namespaces.set(manifest.name, index);
  }
  for (const { manifest, index } of manifests.filter((one) => !isDeleted(one.manifest))) {
    const needed = (at: number | undefined) => (at !== undefined && at > index ? source.manifests[at] : undefined);
    const definition = needed(definitions.get(`${manifest.group}/${manifest.kind}`));
    if (definition && !areParallel(manifest, definition))
      yield findingAt(source, manifest, {
        rule: 'order',
        message: `comes before the CustomResourceDefinition of its kind (${definition.file}:${definition.line}): an update that brings both never gets to it`,
        near: ['kind:', '"kind"'],
      });
    const namespace = needed(namespaces.get(manifest.namespace));
    if (namespace && !areParallel(manifest, namespace))
      yield findingAt(source, manifest, {
        rule: 'order',
        message: `comes before its namespace (${namespace.file}:${namespace.line}): an update that brings both never gets to it`,
        near: ['namespace:', '"namespace"'],
      });
    else if (!ALWAYS.has(manifest.namespace) && !namespaces.has(manifest.namespace))
      yield findingAt(source, manifest, {
        level: 'warning',
        rule: 'order',
        message: `no manifest brings the namespace ${manifest.namespace}: somebody else has to make it`,
        near: ['namespace:', '"namespace"'],
      });
  }
}

const isDeleted = ({ annotations }: Manifest): boolean => annotations?.[ManifestAnnotation.delete] !== undefined;

/** Components of one level are applied at once. */
function areParallel(one: Manifest, other: Manifest): boolean {
  const [left, right] = [fileGroupOf(one), fileGroupOf(other)];
  return left !== undefined && left.level === right?.level && left.component !== right.component;
}

/** `group/Kind` that a CustomResourceDefinition brings. */
export function definedKind({ group, kind, object }: Manifest): string | undefined {
  if (group !== 'apiextensions.k8s.io' || kind !== 'CustomResourceDefinition' || !isJsonObject(object.spec)) return undefined;
  return `${String(object.spec.group)}/${String(objectAt(object.spec.names).kind)}`;
}
