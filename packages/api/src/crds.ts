import type { KubeObject, Resource } from './kubernetes.ts';
import { ClusterGroupUpgrade, ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus } from './ran/cluster-group-upgrade.ts';
import { PreCachingConfig, PreCachingConfigSpec } from './ran/pre-caching-config.ts';
import { type StructuralSchema, toStructural } from './structural.ts';
import { managedClusterActionSchema, managedClusterSchema, managedClusterViewSchema, policySchema } from './transport/crd-schemas.ts';
import { ManagedCluster } from './transport/managed-cluster.ts';
import { ManagedClusterAction } from './transport/managed-cluster-action.ts';
import { ManagedClusterView } from './transport/managed-cluster-view.ts';
import { Policy } from './transport/policy.ts';

/** A CustomResourceDefinition manifest with one served and stored version. Apply it as plain JSON: typed clients drop `x-kubernetes-*`. */
export type CrdManifest = { apiVersion: string; kind: string; metadata: { name: string }; spec: { [key: string]: unknown } };

interface CrdOptions {
  readonly description: string;
  readonly spec: StructuralSchema;
  /** Absent: the kind has no status subresource. */
  readonly status?: StructuralSchema;
  readonly shortNames?: readonly string[];
  readonly columns?: readonly { name: string; type: string; jsonPath: string }[];
}

/** CRDs of the kinds a user writes: ClusterGroupUpgrade and PreCachingConfig (spec/talm 1). */
export function upgradeCrds(): CrdManifest[] {
  return [
    crd(ClusterGroupUpgrade, {
      description: 'An upgrade of a group of clusters: what to pre-cache, which clusters, in which batches.',
      spec: toStructural(ClusterGroupUpgradeSpec),
      status: toStructural(ClusterGroupUpgradeStatus),
      shortNames: ['cgu'],
      // The last condition is the current state: its place in the list is part of the contract.
      columns: [
        { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        { name: 'State', type: 'string', jsonPath: '.status.conditions[-1:].reason' },
        { name: 'Details', type: 'string', jsonPath: '.status.conditions[-1:].message' },
      ],
    }),
    crd(PreCachingConfig, {
      description: 'Overrides of what a ClusterGroupUpgrade pre-caches.',
      spec: toStructural(PreCachingConfigSpec),
    }),
  ];
}

/**
 * CRDs of the kinds a hub already has where a fleet is managed today (spec/ocm 1.2, 1.8, 2.1, 3.1). For hubs without them:
 * a plain Kubernetes hub, tests and the demo.
 */
export function transportCrds(): CrdManifest[] {
  return [
    crd(ManagedCluster, { description: 'A spoke, as the hub knows it.', ...managedClusterSchema, shortNames: ['mcl', 'mcls'] }),
    crd(ManagedClusterAction, { description: 'One operation to carry out on a spoke.', ...managedClusterActionSchema }),
    crd(ManagedClusterView, { description: 'A repeated read of one object on a spoke.', ...managedClusterViewSchema }),
    crd(Policy, { description: 'A policy and how the clusters comply with it.', ...policySchema, shortNames: ['plc'] }),
  ];
}

function crd<T extends KubeObject>(resource: Resource<T>, { description, spec, status, shortNames, columns }: CrdOptions): CrdManifest {
  const [group, version] = resource.apiVersion.split('/');
  const singular = resource.kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource.plural}.${group}` },
    spec: {
      group,
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular,
        ...(shortNames && { shortNames }),
      },
      scope: resource.namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: objectSchema(description, spec, status) },
          ...(status && { subresources: { status: {} } }),
          ...(columns && { additionalPrinterColumns: columns }),
        },
      ],
    },
  };
}

function objectSchema(description: string, spec: StructuralSchema, status?: StructuralSchema): StructuralSchema {
  const text = { type: 'string' };
  const properties = { apiVersion: text, kind: text, metadata: { type: 'object' }, spec, ...(status && { status }) };
  return { description, type: 'object', properties };
}
