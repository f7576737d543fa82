import { anyObject, choice, condition, embedded, flag, int32, int64, list, object, text, texts } from '../schema-parts.ts';

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
    type: { ...choice('Update', 'CreateOnly', 'ServerSideApply', 'ReadOnly'), default: 'Update' },
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
    name: text,
    fieldValue: object(
      {
        type: choice('Integer', 'String', 'Boolean', 'JsonRaw'),
        integer: int64,
        string: text,
        boolean: flag,
        jsonRaw: { ...text, maxLength: 1024 },
      },
      ['type'],
    ),
  },
  ['fieldValue', 'name'],
);
const manifestStatus = object(
  {
    resourceMeta: object({ ordinal: int32, group: text, version: text, kind: text, resource: text, name: text, namespace: text }, [
      'ordinal',
    ]),
    conditions: list(condition),
    statusFeedback: object({ values: listByKey('name', feedbackValue) }),
  },
  ['conditions', 'resourceMeta'],
);

/** `spec` and `status` of ManifestWork (spec/ocm 4.1, 4.2). */
export const manifestWorkSchema = {
  spec: workSpec,
  status: object({ conditions: list(condition), resourceStatus: object({ manifests: list(manifestStatus) }) }),
};

const count = { type: 'integer' };
const counts = object({ total: count, applied: count, available: count, degraded: count, progressing: count });

/** `spec` and `status` of ManifestWorkReplicaSet (spec/ocm 4.4). How it rolls out by itself is kept and not looked into. */
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
