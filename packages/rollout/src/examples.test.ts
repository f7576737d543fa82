import { readFileSync } from 'node:fs';
import { ManifestWorkReplicaSet, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { buildChild, buildManagedCluster } from '../testing/policy-builders.ts';
import { planBatches } from './batches/batches.ts';
import { selectClusters } from './clusters/cluster-selection.ts';
import { judgeWindow } from './gates/window.ts';
import { createComplianceTest, examinePolicies } from './policies/policies.ts';
import { objectDefinitions } from './policies/policy-structure.ts';
import { derivePrecachingSpec } from './software/software-spec.ts';
import { findTemplateProblem } from './works/manifest-works.ts';

const release = 'registry.example.com/release@sha256:1';
const tool = 'registry.example.com/tool@sha256:2';
const windowStart = '2027-01-31T22:00:00Z';
const apps = ['GATEWAY', 'STORE', 'CONSOLE', 'METRICS'].map((app) => [`${app}_IMAGE`, `registry.example.com/app@sha256:${app}`]);
const images: Readonly<Record<string, string>> = {
  RELEASE_IMAGE: release,
  ADDITIONAL_IMAGE: tool,
  WINDOW_START: windowStart,
  ...Object.fromEntries(apps),
};
const read = (file: string): unknown => {
  const text = readFileSync(new URL(`../../../examples/${file}`, import.meta.url), 'utf8');
  return parse(text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => images[name] ?? expect.fail(`${file} has an unknown ${name}`)));
};

const fleet = [
  buildManagedCluster('spoke-2', { fleet: 'edge' }),
  buildManagedCluster('spoke-1', { fleet: 'edge' }),
  buildManagedCluster('core', {}),
];
const offline = { imageAllow: [], talmStrict: false, lookUpRelease: () => ({ kind: 'pending' }) as const };

/** Follows the upgrade of a folder as if a user had applied it to the fleet. */
function follow(folder: string, parent?: Policy) {
  const upgrade = ClusterGroupUpgrade.schema.parse(read(`${folder}/cluster-group-upgrade.yaml`));
  const spec = upgrade.spec ?? expect.fail('the example has no spec');
  const selection = selectClusters(spec, fleet);
  const clusters = selection.failure ? expect.fail(selection.failure.message) : selection.clusters;
  const children = parent ? clusters.map((each) => buildChild(parent, each)) : [];
  const examination = examinePolicies({
    managedPolicies: spec.managedPolicies,
    clusters,
    children,
    parents: () => parent,
    read: objectDefinitions,
  });
  const isCompliant = createComplianceTest({ spec, examination, talmStrict: false });
  return { spec, examination, plan: planBatches({ clusters, ...spec.remediationStrategy, isCompliant }) };
}

test('the pre-caching example pulls a release onto the selected clusters, canary first', () => {
  const { spec, plan } = follow('precaching');
  expect(plan).toEqual({ batches: [['spoke-1'], ['spoke-2']], compliant: [] });
  const config = PreCachingConfig.schema.parse(read('precaching/pre-caching-config.yaml'));
  expect(config.metadata.name).toBe(spec.preCachingConfigRef?.name);
  expect(derivePrecachingSpec({ ...offline, policies: [], configRef: spec.preCachingConfigRef, config })).toEqual({
    spec: { platformImage: release, excludePrecachePatterns: ['^not-needed-'], additionalImages: [tool], spaceRequired: '1' },
  });
});

test('the policy example pulls what the policy names onto the clusters that do not comply', () => {
  const policy = Policy.schema.parse(read('policy/policy.yaml'));
  const { spec, examination, plan } = follow('policy', policy);
  expect(spec.managedPolicies).toEqual([policy.metadata.name]);
  expect(plan.batches).toEqual([['spoke-1'], ['spoke-2']]);
  const derived = derivePrecachingSpec({ ...offline, policies: examination.forUpgrade });
  expect(derived).toEqual({ spec: { platformImage: release, spaceRequired: '35' } });
});

test('the rollout example pulls the very images that its template rolls out, and waits for its window', () => {
  const { spec, plan } = follow('rollout');
  expect(plan.batches).toEqual([['spoke-1'], ['spoke-2']]);
  const config = PreCachingConfig.schema.parse(read('rollout/pre-caching-config.yaml'));
  const derived = derivePrecachingSpec({ ...offline, policies: [], configRef: spec.preCachingConfigRef, config });
  const template = ManifestWorkReplicaSet.schema.parse(read('rollout/manifest-work-replica-set.yaml'));
  expect(spec.manifestWorkTemplates).toEqual([template.metadata.name]);
  expect(findTemplateProblem(template)).toBeUndefined();
  const manifests = template.spec?.manifestWorkTemplate?.workload?.manifests ?? [];
  const rolledOut = [...JSON.stringify(manifests).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image);
  expect(rolledOut).toHaveLength(4);
  expect(derived).toMatchObject({ spec: { platformImage: release, additionalImages: rolledOut, spaceRequired: '1' } });
  const upgrade = ClusterGroupUpgrade.schema.parse(read('rollout/cluster-group-upgrade.yaml'));
  expect(judgeWindow(upgrade, Date.parse(windowStart) - 1)).toMatchObject({ kind: 'closed', opensAt: Date.parse(windowStart) });
});
