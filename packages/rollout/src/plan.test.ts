import { ClusterGroupUpgrade, ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { buildManagedCluster } from '../testing/policy-builders.ts';
import { type ObservedUpgrade, type PlanDeps, planUpgrade } from './plan.ts';
import { objectDefinitions } from './policies/policy-structure.ts';

const deps: PlanDeps = {
  talmStrict: false,
  updateGraphUrl: undefined,
  lookUpRelease: () => ({ kind: 'pending' }),
  readPolicy: (policy) => objectDefinitions(policy),
  standalone: true,
  now: () => Date.parse('2026-01-01T00:00:00Z'),
  precacheImage: '',
  precacheImageAllow: [],
};
function plan(spec: object, parts: Partial<ObservedUpgrade> & { annotations?: Record<string, string> } = {}, talmStrict = false) {
  const { annotations, ...more } = parts;
  const observed: ObservedUpgrade = {
    upgrade: ClusterGroupUpgrade.schema.parse({ metadata: { name: 'u', namespace: 'ns', annotations } }),
    managed: [buildManagedCluster('spoke-1', { fleet: 'edge' })],
    tenancy: undefined,
    childrenOf: () => [],
    parent: () => undefined,
    config: undefined,
    overrides: undefined,
    template: () => undefined,
    servesPolicies: true,
    servesClusters: true,
    upgradeAt: () => undefined,
    ...more,
  };
  const { selection, validation, stopped, recheckAfterMs } = planUpgrade(
    observed,
    ClusterGroupUpgradeSpec.parse({ remediationStrategy: { maxConcurrency: 1 }, ...spec }),
    { ...deps, talmStrict },
  );
  const reason = selection.failure?.reason ?? validation?.reason;
  return { reason, stopped, recheckAfterMs };
}

const nobody = { clusterLabelSelectors: [{ matchLabels: { fleet: 'egde' } }] };
const typo = { annotations: { 'flotilla.io/windowstart': '2030-01-01T00:00:00Z' } };

test.each([
  { name: 'a selector that matches nobody', spec: nobody, parts: {}, reason: 'NoClustersSelected', stopped: 'selection' },
  { name: 'a spec that asks for nothing', spec: { clusters: ['spoke-1'] }, parts: {}, reason: 'NothingToDo', stopped: 'validation' },
  {
    name: 'an annotation that is not known',
    spec: { clusters: ['spoke-1'], managedPolicies: ['p'] },
    parts: typo,
    reason: 'UnknownAnnotation',
    stopped: 'validation',
  },
])('$name stops an upgrade; with --talm-strict it goes on as with the reference', ({ spec, parts, reason, stopped }) => {
  expect(plan(spec, parts)).toEqual({ reason, stopped, recheckAfterMs: undefined });
  expect(plan(spec, parts, true).reason).not.toBe(reason);
});

test('a server without ManagedClusters is looked at again: no object says that the kind has come', () => {
  for (const talmStrict of [false, true])
    expect(plan({ clusters: ['spoke-1'] }, { servesClusters: false, managed: [] }, talmStrict)).toEqual({
      reason: 'ClusterApiMissing',
      stopped: 'selection',
      recheckAfterMs: 30_000,
    });
});
