import {
  anyObject,
  choice,
  condition,
  embedded,
  flag,
  int32,
  int64,
  list,
  listUpTo,
  object,
  rule,
  text,
  texts,
  textUpTo,
} from '../schema-parts.ts';
import { UpdateStrategyType, WorkStatusBound } from './manifest-work.ts';

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
const reportedCondition = {
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
const reportedConditions = {
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

const listByKey = (key: string, items: unknown) => ({
  ...list(items),
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': [key],
});
const dnsName = { ...text, minLength: 1, maxLength: 253, pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$' };
const identifier = object({ group: text, resource: text, name: text, namespace: text }, ['name', 'resource']);

const feedbackRule = object(
  {
    type: choice('WellKnownStatus', 'JSONPaths'),
    jsonPaths: listByKey('name', object({ name: text, path: text, version: text }, ['name', 'path'])),
  },
  ['type'],
);
const ignoredField = object(
  {
    condition: { ...choice('OnSpokePresent', 'OnSpokeChange'), default: 'OnSpokePresent' },
    jsonPaths: { ...texts, minItems: 1 },
  },
  ['condition', 'jsonPaths'],
);
const updateStrategy = object(
  {
    type: { ...choice(...UpdateStrategyType), default: 'Update' },
    serverSideApply: object({
      force: flag,
      fieldManager: { ...text, default: 'work-agent', pattern: '^work-agent' },
      ignoreFields: listByKey('condition', ignoredField),
    }),
  },
  ['type'],
);
const conditionRule = object(
  {
    condition: text,
    type: choice('WellKnownConditions', 'CEL'),
    celExpressions: texts,
    message: text,
    messageExpression: text,
  },
  ['condition', 'type'],
);

const workSpec = object({
  workload: object({ manifests: list(embedded) }),
  deleteOption: object({
    propagationPolicy: { ...choice('Foreground', 'Orphan', 'SelectivelyOrphan'), default: 'Foreground' },
    selectivelyOrphans: object({ orphaningRules: list(identifier) }),
    ttlSecondsAfterFinished: int64,
  }),
  manifestConfigs: list(
    object(
      {
        resourceIdentifier: identifier,
        feedbackRules: list(feedbackRule),
        updateStrategy,
        conditionRules: listByKey('condition', conditionRule),
        feedbackScrapeType: choice('Poll', 'Watch'),
      },
      ['resourceIdentifier'],
    ),
  ),
  executor: object({
    subject: object(
      {
        type: choice('ServiceAccount'),
        serviceAccount: object({ namespace: dnsName, name: dnsName }, ['name', 'namespace']),
      },
      ['type'],
    ),
  }),
});

const feedbackValue = object(
  {
    name: textUpTo(WorkStatusBound.name),
    fieldValue: object(
      {
        type: choice('Integer', 'String', 'Boolean', 'JsonRaw'),
        integer: int64,
        string: textUpTo(WorkStatusBound.value),
        boolean: flag,
        jsonRaw: textUpTo(1024),
      },
      ['type'],
    ),
  },
  ['fieldValue', 'name'],
);
const resourceMeta = {
  ordinal: int32,
  group: textUpTo(253),
  version: textUpTo(WorkStatusBound.word),
  kind: textUpTo(WorkStatusBound.word),
  resource: textUpTo(WorkStatusBound.word),
  name: textUpTo(WorkStatusBound.name),
  namespace: textUpTo(WorkStatusBound.word),
};
const manifestStatus = object(
  {
    resourceMeta: object(resourceMeta, ['ordinal']),
    conditions: listUpTo(16, reportedCondition),
    statusFeedback: object({ values: { ...listByKey('name', feedbackValue), maxItems: WorkStatusBound.values } }),
  },
  ['conditions', 'resourceMeta'],
);

/** Bound of all messages and feedback values of one work, in characters: its deletion must fit beside them. */
const SAID = WorkStatusBound.allValues + WorkStatusBound.allMessages;
const messages = 'each.conditions.map(one, size(one.message)).sum()';
const values =
  '(has(each.statusFeedback) && has(each.statusFeedback.values) ? each.statusFeedback.values.map(one, size(one.name) + (has(one.fieldValue.string) ? size(one.fieldValue.string) : 0) + (has(one.fieldValue.jsonRaw) ? size(one.fieldValue.jsonRaw) : 0)).sum() : 0)';
const manifestStatuses = {
  ...listUpTo(WorkStatusBound.manifests, manifestStatus),
  ...rule(`self.map(each, ${messages} + ${values}).sum() <= ${SAID}`, `all messages and values together may have ${SAID} characters`),
};

/** `spec` and `status` of ManifestWork (spec/ocm 4.1, 4.2). */
export const manifestWorkSchema = {
  spec: workSpec,
  status: object({ conditions: reportedConditions, resourceStatus: object({ manifests: manifestStatuses }) }),
};

const count = { type: 'integer' };
const counts = object({ total: count, applied: count, available: count, degraded: count, progressing: count });

/** `spec` and `status` of ManifestWorkReplicaSet (spec/ocm 4.4). Its own rollout is kept unread. */
export const manifestWorkReplicaSetSchema = {
  spec: object(
    {
      manifestWorkTemplate: workSpec,
      placementRefs: {
        ...list(object({ name: { ...text, minLength: 1 }, rolloutStrategy: { ...anyObject, default: { type: 'All' } } }, ['name'])),
        minItems: 1,
      },
      cascadeDeletionPolicy: { ...choice('Background', 'Foreground'), default: 'Background' },
    },
    ['placementRefs'],
  ),
  status: object({
    conditions: list(condition),
    placementSummary: list(object({ name: text, availableDecisionGroups: text, summary: counts })),
    summary: object({ ...counts.properties, desiredTotal: count, updated: count }),
  }),
};
