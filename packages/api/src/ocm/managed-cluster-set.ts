import { z } from 'zod';
import { KubeObject, LabelSelector, resource } from '../kubernetes.ts';
import { choice, condition, labelSelector, list, object, text } from '../schema-parts.ts';

const SETS = 'cluster.open-cluster-management.io/v1beta2';

const SetSchema = KubeObject.extend({
  spec: z
    .looseObject({
      clusterSelector: z.looseObject({ selectorType: z.string().nullish(), labelSelector: LabelSelector.nullish() }).nullish(),
    })
    .nullish(),
});
/** A set of clusters; bindings tell who may use it (spec/ocm 2.3). Cluster-scoped. */
export type ManagedClusterSet = z.output<typeof SetSchema>;
export const ManagedClusterSet = resource(SETS, 'ManagedClusterSet', 'managedclustersets', false, SetSchema);

const BindingSchema = KubeObject.extend({ spec: z.looseObject({ clusterSet: z.string().nullish() }).nullish() });
/** Lets its namespace use the clusters of a set (spec/ocm 2.3). */
export type ManagedClusterSetBinding = z.output<typeof BindingSchema>;
export const ManagedClusterSetBinding = resource(SETS, 'ManagedClusterSetBinding', 'managedclustersetbindings', true, BindingSchema);

/** Label of a ManagedCluster that puts it into a set of type `ExclusiveClusterSetLabel`. */
export const CLUSTER_SET_LABEL = 'cluster.open-cluster-management.io/clusterset';

const status = object({ conditions: { ...list(condition), 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] } });

/** `spec` and `status` of ManagedClusterSet (spec/ocm 2.3). */
export const managedClusterSetSchema = {
  spec: {
    ...object({
      clusterSelector: {
        ...object({
          selectorType: { ...choice('ExclusiveClusterSetLabel', 'LabelSelector'), default: 'ExclusiveClusterSetLabel' },
          labelSelector,
        }),
        default: { selectorType: 'ExclusiveClusterSetLabel' },
      },
    }),
    default: { clusterSelector: { selectorType: 'ExclusiveClusterSetLabel' } },
  },
  status,
};

/** `spec` and `status` of ManagedClusterSetBinding (spec/ocm 2.3). */
export const managedClusterSetBindingSchema = { spec: object({ clusterSet: { ...text, minLength: 1 } }), status };
