/**
 * Schemas of kinds other projects own, written out as their servers enforce them (spec/ocm 1.2, 1.8, 2.1, 3.1 and 3.3). They
 * are not generated from the zod schemas beside them: those read more than a server accepts, these accept no more than it does.
 */
const text = { type: 'string' };
const texts = { type: 'array', items: text };
const flag = { type: 'boolean' };
const anyObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const embedded = { ...anyObject, 'x-kubernetes-embedded-resource': true };
const quantities = {
  type: 'object',
  additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
};

const object = (properties: Record<string, unknown>, required?: readonly string[]) => ({
  type: 'object',
  properties,
  ...(required && { required }),
});
const list = (items: unknown) => ({ type: 'array', items });

const condition = object(
  {
    type: { ...text, maxLength: 316 },
    status: { ...text, enum: ['True', 'False', 'Unknown'] },
    reason: { ...text, minLength: 1, maxLength: 1024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' },
    message: { ...text, maxLength: 32768 },
    lastTransitionTime: { ...text, format: 'date-time' },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
  },
  ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
);
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
      updateIntervalSeconds: { type: 'integer', format: 'int32' },
    }),
  }),
  status: object({ conditions: list(condition), result }),
};

/** `spec` and `status` of ManagedCluster (spec/ocm 2.1). */
export const managedClusterSchema = {
  spec: object({
    hubAcceptsClient: flag,
    leaseDurationSeconds: { type: 'integer', format: 'int32', default: 60 },
    managedClusterClientConfigs: list(object({ url: text, caBundle: { ...text, format: 'byte' } }, ['url'])),
    taints: list(
      object(
        {
          key: text,
          value: text,
          effect: { ...text, enum: ['NoSelect', 'PreferNoSelect', 'NoSelectIfNew'] },
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
      managedNamespaces: list(anyObject),
    },
    ['conditions'],
  ),
};

/** `spec` and `status` of Policy (spec/ocm 3.1, 3.3): the fields read are typed, the others kept, nothing is required. */
export const policySchema = {
  spec: {
    ...object({
      disabled: flag,
      remediationAction: text,
      copyPolicyMetadata: flag,
      dependencies: list(anyObject),
      'policy-templates': list({ ...object({ objectDefinition: anyObject, extraDependencies: list(anyObject), ignorePending: flag }) }),
    }),
    'x-kubernetes-preserve-unknown-fields': true,
  },
  status: {
    ...object({
      compliant: text,
      status: list({
        ...object({ clustername: text, clusternamespace: text, compliant: text, remainingBindings: texts }),
        'x-kubernetes-preserve-unknown-fields': true,
      }),
      details: list(anyObject),
      placement: list(anyObject),
    }),
    'x-kubernetes-preserve-unknown-fields': true,
  },
};
