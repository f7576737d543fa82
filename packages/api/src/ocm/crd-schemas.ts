import { choice, condition, embedded, flag, int32, list, listUpTo, object, rule, text, textUpTo } from '../schema-parts.ts';

/**
 * Schemas of kinds that other projects own, written out as their servers enforce them (spec/ocm 1.2, 1.8, 2.1). Works, placements and policies have
 * files of their own. The zod schemas beside them read more than a server accepts, so these are not generated from them.
 */
const quantities = {
  type: 'object',
  maxProperties: 64,
  additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true, maxLength: 64 },
  ...rule('self.all(name, size(name) <= 128)', 'a name may have 128 characters'),
};

/** Condition that a spoke writes. The pattern is metav1's, so every character of a type is one byte. */
export const reportedCondition = {
  ...condition,
  properties: {
    ...condition.properties,
    type: {
      ...textUpTo(316),
      pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
    },
  },
};

/** Bound of all messages in one list of conditions, in characters: a single one may be longer than its share. */
const MESSAGES = 32_768;
/** Conditions that a spoke writes. */
export const reportedConditions = {
  ...listUpTo(64, reportedCondition),
  ...rule(`self.map(each, size(each.message)).sum() <= ${MESSAGES}`, `all messages together may have ${MESSAGES} characters`),
};

const result = { ...embedded, nullable: true };

/** `spec` and `status` of ManagedClusterAction (spec/ocm 1.2). */
export const managedClusterActionSchema = {
  spec: object({ actionType: text, kube: object({ resource: text, name: text, namespace: text, template: embedded }) }),
  status: object({ conditions: reportedConditions, result }),
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
  status: object({ conditions: reportedConditions, result }),
};

const CLAIMS = 32_768;
const claims = {
  ...listUpTo(256, object({ name: textUpTo(253), value: textUpTo(1024) })),
  ...rule(
    `self.map(each, (has(each.name) ? size(each.name) : 0) + (has(each.value) ? size(each.value) : 0)).sum() <= ${CLAIMS}`,
    `all claims together may have ${CLAIMS} characters`,
  ),
};
const NAMESPACES = 8_192;
const managedNamespaces = {
  ...listUpTo(16, object({ name: textUpTo(63), conditions: listUpTo(4, reportedCondition) }, ['name'])),
  ...rule(
    `self.map(each, has(each.conditions) ? each.conditions.map(one, size(one.message)).sum() : 0).sum() <= ${NAMESPACES}`,
    `all messages together may have ${NAMESPACES} characters`,
  ),
};

/** `spec` and `status` of ManagedCluster (spec/ocm 2.1). The status is bounded as a whole: a denial must fit beside everything a spoke may write. */
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
      conditions: { ...reportedConditions, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
      version: object({ kubernetes: textUpTo(128) }),
      capacity: quantities,
      allocatable: quantities,
      clusterClaims: claims,
      managedNamespaces,
    },
    ['conditions'],
  ),
};
