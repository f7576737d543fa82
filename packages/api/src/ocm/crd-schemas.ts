import { choice, condition, embedded, flag, int32, list, object, text } from '../schema-parts.ts';

/**
 * Schemas of kinds other projects own, written out as their servers enforce them (spec/ocm 1.2, 1.8, 2.1; works, placements and
 * policies have files of their own). They are not generated from the zod schemas beside them: those read more than a server
 * accepts, these accept no more than it does.
 */
const quantities = {
  type: 'object',
  additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
};
const result = { ...embedded, nullable: true };

/** `spec` and `status` of ManagedClusterAction (spec/ocm 1.2). */
export const managedClusterActionSchema = {
  spec: object({ actionType: text, kube: object({ resource: text, name: text, namespace: text, template: embedded }) }),
  status: object({ conditions: list(condition), result }),
};

/** `spec` and `status` of ManagedClusterView (spec/ocm 1.8). */
export const managedClusterViewSchema = {
  spec: object({
    scope: object({
      resource: text,
      apiGroup: text,
      version: text,
      kind: text,
      name: text,
      namespace: text,
      updateIntervalSeconds: int32,
    }),
  }),
  status: object({ conditions: list(condition), result }),
};

/** `spec` and `status` of ManagedCluster (spec/ocm 2.1). */
export const managedClusterSchema = {
  spec: object({
    hubAcceptsClient: { ...flag, description: "The hub lets the cluster's agent in." },
    leaseDurationSeconds: {
      ...int32,
      default: 60,
      description: 'How often the agent renews its lease; after five times as long it counts as away.',
    },
    managedClusterClientConfigs: list(object({ url: text, caBundle: { ...text, format: 'byte' } }, ['url'])),
    taints: list(
      object(
        {
          key: text,
          value: text,
          effect: choice('NoSelect', 'PreferNoSelect', 'NoSelectIfNew'),
          timeAdded: { ...text, format: 'date-time', nullable: true },
        },
        ['key', 'effect'],
      ),
    ),
  }),
  status: object(
    {
      conditions: { ...list(condition), 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
      version: object({ kubernetes: text }),
      capacity: quantities,
      allocatable: quantities,
      clusterClaims: list(object({ name: text, value: text })),
      managedNamespaces: list({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
    },
    ['conditions'],
  ),
};
