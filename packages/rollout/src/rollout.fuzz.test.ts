import { setImmediate as turn } from 'node:timers/promises';
import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { buildPolicy, catalogSource, clusterVersion, configurationPolicy, subscription } from '../testing/policy-builders.ts';
import { selectClusters } from './clusters/cluster-selection.ts';
import { objectDefinitions, readInPieces } from './policies/policy-structure.ts';
import { derivePrecachingSpec } from './software/software-spec.ts';
import { desiredViewNames } from './spoke/subscriptions.ts';
import { validateInput } from './validation/input-checks.ts';
import { parseSpaceRequired } from './values/formats.ts';

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

/** Lines that a parser of YAML takes long for. */
const SLOW = [
  '- a\n',
  '- {}\n',
  '-\n',
  '- a: b\n',
  '- !a b\n',
  '- [1,1,1,1,1,1]\n',
  '- &a x\n',
  '- *a\n',
  '{},',
  '"',
  '? a\n',
  ': ',
  '\n',
  '- - ',
  '[',
  "'",
  '- |\n a\n',
  '{{ $x }}',
  '- {{ .a }}\n',
] as const;
/** As much as a server takes of one object, in templates of any number. */
function largePolicy(random: RandomValues): unknown {
  const count = random.pick([1, 3, 11, 40, 2_000]);
  const most = Math.min(random.below(random.pick([1_000, 30_000, 130_000, 300_000])), Math.floor(1_400_000 / count));
  const unit = random.chance(0.3) ? RAW : random.list(3, () => random.pick([...SLOW, RAW])).join('') || '- a\n';
  const raw = { 'object-templates-raw': unit.repeat(Math.ceil(most / unit.length)).slice(0, most) };
  const objects = Math.floor(random.below(30_000) / count);
  const plain = { 'object-templates': Array.from({ length: objects }, () => ({ objectDefinition: { kind: 'A' } })) };
  const templates = Array.from({ length: count }, () => configurationPolicy(random.chance(0.2) ? plain : raw));
  return buildPolicy('p', { spec: { 'policy-templates': templates } });
}

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
  defineTarget('policies as large as a server takes', {
    // Three times the usual bound: what takes 150 ms on one machine takes 440 ms on another.
    maxPauseMs: 600,
    make: largePolicy,
    run: async (raw) => {
      const policy = Policy.schema.parse(raw);
      const reading = readInPieces(policy);
      let next = reading.next();
      for (; !next.done; next = reading.next()) await turn();
      const { objects = [], invalid } = next.value;
      if (invalid !== undefined) expect(invalid).toMatch(/^spec[. ]/);
      expect(objects.length).toBeLessThanOrEqual(2_000);
      await turn();
      // Each pass goes through the objects of as many policies as an upgrade may have.
      const policies = Array.from({ length: 5 }, (_, i) => ({ name: `p${i}`, objects }));
      derivePrecachingSpec({ policies, talmStrict: false, imageAllow: [], lookUpRelease: () => ({ kind: 'pending' }) });
      const names = policies.flatMap((each) => desiredViewNames({ namespace: 'ns', name: 'u', uid: '' }, each.objects));
      expect(names.length).toBeLessThanOrEqual(10_000);
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
