import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { selectClusters } from './clusters/cluster-selection.ts';
import { buildPolicy, catalogSource, clusterVersion, configurationPolicy, subscription } from './policies/policy-builders.ts';
import { objectDefinitions } from './policies/policy-structure.ts';
import { derivePrecachingSpec } from './software/software-spec.ts';
import { parseSpaceRequired } from './software/space-required.ts';
import { validateInput } from './validation/input-checks.ts';

const policy = (random: RandomValues): unknown => {
  const plain = buildPolicy('p', {
    objects: [
      clusterVersion({ desiredUpdate: { image: 'q/r:1' } }),
      catalogSource({ image: 'q/i:1' }),
      subscription({ name: 'a', channel: 'b' }),
    ],
  });
  const raw = buildPolicy('p', {
    spec: {
      'policy-templates': [
        configurationPolicy({ 'object-templates-raw': random.chance(0.5) ? random.text(200) : RAW.repeat(1 + random.below(3)) }),
      ],
    },
  });
  return random.mutate(random.chance(0.5) ? plain : raw);
};
const RAW =
  '{{- range (lookup "v1" "Node" "" "").items }}\n- complianceType: musthave\n  objectDefinition:\n    kind: Subscription\n    apiVersion: operators.coreos.com/v1alpha1\n    spec: {name: a, channel: "{{ .x }}"}\n{{- end }}\n';

const config = {
  overrides: { platformImage: 'a/b:1', operatorsIndexes: ['a/i:1'], operatorsPackagesAndChannels: ['a:b'] },
  spaceRequired: '35 GiB',
  excludePrecachePatterns: ['aws'],
  additionalImages: ['a/c:1'],
};
const space = (random: RandomValues): string =>
  random.chance(0.5)
    ? random.list(6, () => random.pick(['1', '0', '9'.repeat(random.below(30_000)), '.', ' ', 'G', 'i', 'B', 'P', '\n', '-'])).join('')
    : random.text(40);

const upgrade = {
  metadata: { name: 'a', namespace: 'b', annotations: { 'flotilla.io/window-start': '2026-01-01T00:00:00Z' } },
  spec: {
    clusters: ['a', 'b'],
    clusterLabelSelectors: [{ matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] }],
    clusterSelector: ['a=b', 'c'],
    remediationStrategy: { maxConcurrency: 2, canaries: ['a'] },
    actions: { beforeEnable: { addClusterLabels: { a: '' }, deleteClusterLabels: { b: '' } } },
  },
};
const clusters = Array.from({ length: 50 }, (_, i) =>
  ManagedCluster.schema.parse({ metadata: { name: `c${i}`, labels: { a: i % 2 ? 'b' : 'x', k: 'v' } } }),
);

const targets = [
  defineTarget('texts of a size', {
    make: space,
    run: (text) => {
      const parsed = parseSpaceRequired(text, 'spec.spaceRequired');
      if (parsed.problem === undefined) expect(parsed.gib).toMatch(/^\d{1,8}$/);
      else expect(parsed.problem.length).toBeLessThan(1_000);
    },
  }),
  defineTarget('policies', {
    make: policy,
    run: (raw) => {
      const parsed = Policy.schema.safeParse(raw);
      if (!parsed.success) return;
      const { objects, invalid } = objectDefinitions(parsed.data);
      expect(objects !== undefined || invalid.length > 0).toBe(true);
    },
  }),
  defineTarget('what to pre-cache', {
    make: (random) => ({
      policies: random.list(2, () => policy(random)),
      config: random.mutate({ ...config, spaceRequired: space(random) }),
      overrides: random.mutate({
        'operators.packagesAndChannels': random.text(60),
        excludePrecachePatterns: random.text(60),
        'precache.spaceRequired': space(random),
      }),
      talmStrict: random.chance(0.3),
    }),
    run: (raw) => {
      const policies = raw.policies.flatMap((each) => Policy.schema.safeParse(each).data ?? []);
      const parsed = PreCachingConfig.schema.safeParse({ metadata: { name: 'config', namespace: 'ns' }, spec: raw.config });
      const overrides = ConfigMap.schema.safeParse({ metadata: { name: 'overrides', namespace: 'ns' }, data: raw.overrides });
      const result = derivePrecachingSpec({
        policies: policies.map((each) => ({ name: 'p', objects: objectDefinitions(each).objects ?? [] })),
        config: parsed.data,
        overrides: overrides.data,
        talmStrict: raw.talmStrict,
        imageAllow: [],
        lookUpRelease: () => ({ kind: 'known', image: 'q/r:1' }),
      });
      if ('pending' in result) throw new Error('the answer is known');
      if (result.failure) expect(result.failure.message).not.toBe('');
      else expect(JSON.stringify(result.spec).length).toBeLessThan(256 * 1024);
    },
  }),
  defineTarget('what an upgrade asks for', {
    make: (random) => random.mutate(upgrade),
    run: (raw) => {
      const parsed = ClusterGroupUpgrade.schema.safeParse(raw);
      if (!parsed.success || !parsed.data.spec) return;
      validateInput(parsed.data, parsed.data.spec, 0);
      selectClusters(parsed.data.spec, clusters);
    },
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
