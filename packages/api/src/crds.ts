import type { KubeObject, Resource } from './kubernetes.ts';
import { ClusterGroupUpgrade, ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus } from './ran/cluster-group-upgrade.ts';
import { PreCachingConfig, PreCachingConfigSpec } from './ran/pre-caching-config.ts';
import { type StructuralSchema, toStructural } from './structural.ts';
import { managedClusterActionSchema, managedClusterSchema, managedClusterViewSchema } from './transport/crd-schemas.ts';
import { ManagedCluster } from './transport/managed-cluster.ts';
import { ManagedClusterAction } from './transport/managed-cluster-action.ts';
import {
  ManagedClusterSet,
  ManagedClusterSetBinding,
  managedClusterSetBindingSchema,
  managedClusterSetSchema,
} from './transport/managed-cluster-set.ts';
import { ManagedClusterView } from './transport/managed-cluster-view.ts';
import { ManifestWork, ManifestWorkReplicaSet } from './transport/manifest-work.ts';
import { Placement, PlacementDecision } from './transport/placement.ts';
import { PlacementBinding } from './transport/placement-binding.ts';
import { Policy } from './transport/policy.ts';
import { placementBindingSchema, placementDecisionSchema, placementSchema, policySchema } from './transport/policy-crd-schemas.ts';
import { manifestWorkReplicaSetSchema, manifestWorkSchema } from './transport/work-crd-schemas.ts';

/** A CustomResourceDefinition manifest with one served and stored version. Apply it as plain JSON: typed clients drop `x-kubernetes-*`. */
export type CrdManifest = { apiVersion: string; kind: string; metadata: { name: string }; spec: { [key: string]: unknown } };

interface CrdOptions {
  readonly description: string;
  readonly spec?: StructuralSchema;
  /** Fields at the top level, of a kind that does not keep them under `spec`. */
  readonly fields?: Readonly<Record<string, StructuralSchema>>;
  /** Fields at the top level that an object must have. */
  readonly required?: readonly string[];
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
 * CRDs of what a hub and its spokes talk through (spec/ocm 1.2, 1.8, 2.1, 4): what a plain Kubernetes hub needs where no fleet
 * management has installed them.
 */
export function transportCrds(): CrdManifest[] {
  return [
    crd(ManagedCluster, { description: 'A spoke, as the hub knows it.', ...managedClusterSchema, shortNames: ['mcl', 'mcls'] }),
    crd(ManagedClusterAction, { description: 'One operation to carry out on a spoke.', ...managedClusterActionSchema }),
    crd(ManagedClusterView, { description: 'A repeated read of one object on a spoke.', ...managedClusterViewSchema }),
    crd(ManifestWork, { description: 'Objects to keep on a spoke.', ...manifestWorkSchema }),
    crd(ManifestWorkReplicaSet, { description: 'A template of works.', ...manifestWorkReplicaSetSchema, shortNames: ['mwrs'] }),
  ];
}

/** CRDs of cluster sets and their bindings (spec/ocm 2.3): what a hub that keeps tenants apart needs where no fleet management has installed them. */
export function clusterSetCrds(): CrdManifest[] {
  return [
    crd(ManagedClusterSet, { description: 'A set of clusters.', ...managedClusterSetSchema, shortNames: ['mclset', 'mclsets'] }),
    crd(ManagedClusterSetBinding, {
      description: 'Lets its namespace use the clusters of a set.',
      ...managedClusterSetBindingSchema,
      shortNames: ['mclsetbinding', 'mclsetbindings'],
    }),
  ];
}

/** CRDs of the policy framework and of placements (spec/ocm 2.4, 3): hubs that have the framework have them; for tests and the demo. */
export function policyCrds(): CrdManifest[] {
  return [
    crd(Policy, { description: 'A policy and how the clusters comply with it.', ...policySchema, shortNames: ['plc'] }),
    crd(PlacementBinding, { description: 'Binds policies to a placement.', ...placementBindingSchema, shortNames: ['pb'] }),
    crd(Placement, { description: 'A choice of clusters.', ...placementSchema }),
    crd(PlacementDecision, { description: 'Clusters that a placement chose.', ...placementDecisionSchema }),
  ];
}

function crd<T extends KubeObject>(resource: Resource<T>, options: CrdOptions): CrdManifest {
  const { status, shortNames, columns } = options;
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
          schema: { openAPIV3Schema: objectSchema(options) },
          ...(status && { subresources: { status: {} } }),
          ...(columns && { additionalPrinterColumns: columns }),
        },
      ],
    },
  };
}

function objectSchema({ description, spec, fields, required, status }: CrdOptions): StructuralSchema {
  const text = { type: 'string' };
  const properties = {
    apiVersion: text,
    kind: text,
    metadata: { type: 'object' },
    ...(spec && { spec }),
    ...fields,
    ...(status && { status }),
  };
  return { description, type: 'object', properties, ...(required && { required }) };
}
