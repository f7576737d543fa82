import { type CrdManifest, crd } from '../src/crd.ts';
import { Placement, PlacementDecision } from '../src/ocm/placement.ts';
import { PlacementBinding, Policy } from '../src/ocm/policy.ts';
import { anyObject, choice, condition, flag, int32, int64, labelSelector, list, object, text, texts } from '../src/schema-parts.ts';

/** `spec` and `status` of Policy (spec/ocm 3.1, 3.3): used fields are typed, others kept, none required. */
const policySchema = {
  spec: {
    ...object({
      disabled: flag,
      remediationAction: text,
      copyPolicyMetadata: flag,
      dependencies: list(anyObject),
      'policy-templates': list(object({ objectDefinition: anyObject, extraDependencies: list(anyObject), ignorePending: flag })),
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

const named = { ...text, minLength: 1 };
const reference = (groups: readonly string[], kinds: readonly string[]) =>
  object({ apiGroup: choice(...groups), kind: choice(...kinds), name: named }, ['apiGroup', 'kind', 'name']);

/** Fields of PlacementBinding, which has them at the top level (spec/ocm 3.5); its status is empty. */
const placementBindingSchema = {
  fields: {
    placementRef: reference(['apps.open-cluster-management.io', 'cluster.open-cluster-management.io'], ['PlacementRule', 'Placement']),
    subjects: { ...list(reference(['policy.open-cluster-management.io'], ['Policy', 'PolicySet'])), minItems: 1 },
    bindingOverrides: object({ remediationAction: choice('Enforce', 'enforce') }),
    subFilter: choice('restricted'),
  },
  required: ['placementRef', 'subjects'],
  status: { type: 'object' },
};

const tolerationKey = {
  ...text,
  maxLength: 316,
  pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
};
const claimSelector = object({ matchExpressions: labelSelector.properties.matchExpressions });

/** `spec` and `status` of Placement (spec/ocm 2.4). Ranking and grouping of decisions are kept unread. */
const placementSchema = {
  spec: object({
    clusterSets: texts,
    numberOfClusters: int32,
    predicates: list(
      object({ requiredClusterSelector: object({ labelSelector, claimSelector, celSelector: object({ celExpressions: texts }) }) }),
    ),
    tolerations: list(
      object({
        key: tolerationKey,
        operator: { ...text, default: 'Equal' },
        value: { ...text, maxLength: 1024 },
        effect: choice('NoSelect', 'PreferNoSelect', 'NoSelectIfNew'),
        tolerationSeconds: int64,
      }),
    ),
    prioritizerPolicy: anyObject,
    spreadPolicy: anyObject,
    decisionStrategy: anyObject,
    sortBy: anyObject,
    scoreRateLimit: anyObject,
  }),
  required: ['spec'],
  status: object({
    numberOfSelectedClusters: int32,
    decisionGroups: list(
      object({ decisionGroupIndex: int32, decisionGroupName: text, decisions: texts, clusterCount: { ...int32, default: 0 } }),
    ),
    conditions: list(condition),
  }),
};

/** `status` of PlacementDecision, which has no spec (spec/ocm 2.4). */
const placementDecisionSchema = {
  status: object({ decisions: list(object({ clusterName: text, reason: text, score: int64 }, ['clusterName', 'reason'])) }, ['decisions']),
};

/** CRDs of the policy framework and of placements (spec/ocm 2.4, 3), for tests: hubs with the framework have them. */
export function policyCrds(): CrdManifest[] {
  return [
    crd(Policy, { description: 'A policy and how the clusters comply with it.', ...policySchema, shortNames: ['plc'] }),
    crd(PlacementBinding, { description: 'Binds policies to a placement.', ...placementBindingSchema, shortNames: ['pb'] }),
    crd(Placement, { description: 'A choice of clusters.', ...placementSchema }),
    crd(PlacementDecision, { description: 'Clusters that a placement chose.', ...placementDecisionSchema }),
  ];
}
