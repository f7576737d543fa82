import { type CrdManifest, crd } from '../crd.ts';
import { ManagedClusterAction, ManagedClusterView } from './actions-and-views.ts';
import {
  managedClusterActionSchema,
  managedClusterSchema,
  managedClusterViewSchema,
  manifestWorkReplicaSetSchema,
  manifestWorkSchema,
} from './crd-schemas.ts';
import {
  CLUSTER_AVAILABLE,
  ManagedCluster,
  ManagedClusterSet,
  ManagedClusterSetBinding,
  managedClusterSetBindingSchema,
  managedClusterSetSchema,
} from './managed-cluster.ts';
import { AppliedManifestWork, appliedManifestWorkSchema, ManifestWork, ManifestWorkReplicaSet } from './manifest-work.ts';

const statusOf = (condition: string): string => `.status.conditions[?(@.type=="${condition}")].status`;

/** Columns as in the fleet framework: acceptance, arrival and availability. */
const managedClusterColumns = [
  { name: 'Hub Accepted', type: 'boolean', jsonPath: '.spec.hubAcceptsClient' },
  { name: 'Managed Cluster URLs', type: 'string', jsonPath: '.spec.managedClusterClientConfigs[*].url' },
  { name: 'Joined', type: 'string', jsonPath: statusOf('ManagedClusterJoined') },
  { name: 'Available', type: 'string', jsonPath: statusOf(CLUSTER_AVAILABLE) },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

/** CRDs of the objects between hub and spokes (spec/ocm 1.2, 1.8, 2.1, 4), for a plain Kubernetes hub without fleet management. */
export function transportCrds(): CrdManifest[] {
  return [
    crd(ManagedCluster, {
      description: 'A spoke, as the hub knows it.',
      ...managedClusterSchema,
      shortNames: ['mcl', 'mcls'],
      columns: managedClusterColumns,
    }),
    crd(ManagedClusterAction, { description: 'One operation to carry out on a spoke.', ...managedClusterActionSchema }),
    crd(ManagedClusterView, { description: 'A repeated read of one object on a spoke.', ...managedClusterViewSchema }),
    crd(ManifestWork, { description: 'Objects to keep on a spoke.', ...manifestWorkSchema }),
    crd(ManifestWorkReplicaSet, { description: 'A template of works.', ...manifestWorkReplicaSetSchema, shortNames: ['mwrs'] }),
  ];
}

/** CRDs of what the agent keeps on a spoke: those of the stock work agent, where there is none. */
export function spokeWorkCrds(): CrdManifest[] {
  return [crd(AppliedManifestWork, { description: 'Objects that a work of the hub holds on this cluster.', ...appliedManifestWorkSchema })];
}

/** CRDs of cluster sets and their bindings (spec/ocm 2.3), for a hub with tenants but without fleet management. */
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
