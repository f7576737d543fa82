import { defineTarget } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import type { KubeObject, Resource } from './kubernetes.ts';
import { ManagedClusterAction, ManagedClusterView } from './ocm/actions-and-views.ts';
import { ManagedCluster } from './ocm/managed-cluster.ts';
import { ManifestWork } from './ocm/manifest-work.ts';
import { Policy } from './ocm/policy.ts';
import { ClusterGroupUpgrade } from './ran/cluster-group-upgrade.ts';
import { PreCachingConfig } from './ran/pre-caching-config.ts';

const metadata = { name: 'a', namespace: 'b', generation: 2, labels: { a: 'b' } };
const condition = {
  type: 'Applied',
  status: 'True',
  reason: 'Done',
  message: 'm',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 2,
};
const status = {
  conditions: [condition, { ...condition, type: 'Other' }],
  result: { kind: 'Job', metadata: { name: 'x' }, status: { active: 1 } },
  resourceStatus: {
    manifests: [
      {
        resourceMeta: { ordinal: 0 },
        conditions: [condition],
        statusFeedback: { values: [{ name: 'v', fieldValue: { type: 'Integer', integer: 1 } }] },
      },
    ],
  },
  compliant: 'NonCompliant',
  status: [{ clustername: 'a', clusternamespace: 'a', compliant: 'Compliant' }],
};
const spokeKinds: readonly [Resource, ...Resource[]] = [ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork, Policy];

/** Checks that a spoke's status leaves the rest of the object intact. */
function readHostile({ kind, raw }: { kind: number; raw: unknown }): void {
  const parsed = (spokeKinds[kind] ?? ManagedCluster).schema.parse({ metadata, spec: { hubAcceptsClient: false }, status: raw });
  expect(parsed).toMatchObject({ metadata, spec: { hubAcceptsClient: false } });
  // A policy has no conditions that are read.
  const conditions: unknown = kind === spokeKinds.length - 1 ? undefined : parsed.status;
  if (typeof conditions === 'object' && conditions !== null && 'conditions' in conditions && Array.isArray(conditions.conditions))
    expect(conditions.conditions.length).toBeLessThanOrEqual(64);
}

const upgrade = {
  metadata,
  spec: {
    clusters: ['spoke-1', 'spoke-2'],
    clusterLabelSelectors: [{ matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] }],
    managedPolicies: ['p'],
    enable: true,
    preCaching: true,
    remediationStrategy: { maxConcurrency: 10, timeout: 240, canaries: ['spoke-1'] },
    actions: { beforeEnable: { addClusterLabels: { a: '' } }, afterCompletion: { deleteObjects: true } },
  },
};
const config = {
  metadata,
  spec: { overrides: { platformImage: 'a/b:1' }, spaceRequired: '35 GiB', excludePrecachePatterns: ['aws'], additionalImages: ['a/b:1'] },
};

/** Checks that a user's object is readable, or refused with the field. */
function readUsers<T extends KubeObject>(kind: Resource<T>, raw: unknown): void {
  const parsed = kind.schema.safeParse(raw);
  if (!parsed.success) expect(parsed.error.issues.length).toBeGreaterThan(0);
}

const targets = [
  defineTarget('statuses that spokes write', {
    make: (random) => ({ kind: random.below(spokeKinds.length), raw: random.chance(0.1) ? random.json(5) : random.mutate(status) }),
    run: readHostile,
  }),
  defineTarget('ClusterGroupUpgrades', { make: (random) => random.mutate(upgrade), run: (raw) => readUsers(ClusterGroupUpgrade, raw) }),
  defineTarget('PreCachingConfigs', { make: (random) => random.mutate(config), run: (raw) => readUsers(PreCachingConfig, raw) }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
