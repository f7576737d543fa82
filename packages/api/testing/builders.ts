import { ClusterGroupUpgrade } from '../src/ran/cluster-group-upgrade.ts';

/** Builds a ClusterGroupUpgrade with the real schema's defaults; `spec` is merged over one cluster and maxConcurrency 1. */
export function buildClusterGroupUpgrade(
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Record<string, unknown> = {},
): ClusterGroupUpgrade {
  return ClusterGroupUpgrade.schema.parse({
    apiVersion: ClusterGroupUpgrade.apiVersion,
    kind: ClusterGroupUpgrade.kind,
    metadata: { name, namespace: 'default', uid: `uid-${name}`, generation: 1, ...metadata },
    spec: { remediationStrategy: { maxConcurrency: 1 }, ...spec },
  });
}

/** Kind of a definition for tests. */
export interface OpenKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  /** Default `Namespaced`. */
  readonly scope?: 'Namespaced' | 'Cluster';
  /** Schemas of some fields; all others are kept unchanged. */
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** Builds a CustomResourceDefinition of a kind whose objects may have any field. */
export function buildOpenDefinition({ group, kind, plural, scope = 'Namespaced', properties }: OpenKind) {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...(properties && { properties }) };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope,
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}
