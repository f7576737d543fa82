import { expect, test } from 'vitest';
import { limitsOf } from './limits.ts';
import { ClusterGroupUpgrade, ClusterGroupUpgradeSpec } from './ran/cluster-group-upgrade.ts';
import { PreCachingConfig, PreCachingConfigSpec } from './ran/pre-caching-config.ts';

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));
const upgrade = limitsOf(ClusterGroupUpgradeSpec);
const config = limitsOf(PreCachingConfigSpec);
const remediationStrategy = { maxConcurrency: 100 };

test('large fleets stay within the limits', () => {
  const names = many(20_000, (index) => `edge-site-${index}.${'region'.repeat(20)}`);
  const values = many(5_000, (index) => `site-${index}`);
  expect(
    upgrade({
      clusters: names,
      clusterSelector: values.map((value) => `name=${value}`),
      clusterLabelSelectors: many(100, () => ({
        matchLabels: { site: 'x'.repeat(63) },
        matchExpressions: [{ key: 'k', operator: 'In', values }],
      })),
      remediationStrategy: { ...remediationStrategy, canaries: names.slice(0, 100) },
      managedPolicies: many(500, (index) => `policy-${index}`),
      manifestWorkTemplates: many(2_000, (index) => `template-${index}`),
      blockingCRs: many(100, (index) => ({ name: `upgrade-${index}`, namespace: 'n'.repeat(63) })),
      actions: { beforeEnable: { addClusterAnnotations: { note: 'x'.repeat(100_000) } } },
    }),
  ).toBeUndefined();
  expect(
    config({
      overrides: {
        platformImage: `r/${'x'.repeat(1_000)}`,
        operatorsPackagesAndChannels: many(1_000, (index) => `package-${index}:stable`),
      },
      spaceRequired: '1.5 TiB',
      excludePrecachePatterns: many(5_000, (index) => `^component-${index}`),
      additionalImages: many(5_000, (index) => `registry.example/image-${index}@sha256:${'0'.repeat(64)}`),
    }),
  ).toBeUndefined();
});

test.each([
  {
    name: 'clusters',
    excess: upgrade({ remediationStrategy, clusters: many(20_001, String) }),
    want: { path: ['clusters'], message: 'has 20001 entries, at most 20000 are accepted' },
  },
  {
    name: 'selectors',
    excess: upgrade({ remediationStrategy, clusterSelector: many(40_000, (index) => `a=${index}`) }),
    want: { path: ['clusterSelector'], message: 'has 40000 entries, at most 5000 are accepted' },
  },
  {
    name: 'values of a selector',
    excess: upgrade({ clusterLabelSelectors: [{}, { matchExpressions: [{ key: 'a', operator: 'In', values: many(40_000, String) }] }] }),
    want: { path: ['clusterLabelSelectors', 1, 'matchExpressions', 0, 'values'], message: 'has 40000 entries, at most 5000 are accepted' },
  },
  {
    name: 'labels',
    excess: upgrade({ clusterLabelSelectors: [{ matchLabels: Object.fromEntries(many(65, (index) => [`l${index}`, ''])) }] }),
    want: { path: ['clusterLabelSelectors', 0, 'matchLabels'], message: 'has 65 keys, at most 64 are accepted' },
  },
  {
    name: 'characters of a size',
    excess: config({ spaceRequired: '9'.repeat(64_000) }),
    want: { path: ['spaceRequired'], message: 'has 64000 characters, at most 64 are accepted' },
  },
  {
    name: 'characters of an image',
    excess: config({ additionalImages: ['a', 'x'.repeat(1_025)] }),
    want: { path: ['additionalImages', 1], message: 'has 1025 characters, at most 1024 are accepted' },
  },
])('more $name than are accepted: field, how many, and how many would do', ({ excess, want }) => expect(excess).toEqual(want));

test.each([
  {
    name: 'a negative timeout',
    given: { remediationStrategy: { maxConcurrency: 1, timeout: -5 } },
    want: { path: ['remediationStrategy', 'timeout'], message: 'is -5, at least 0 is accepted', isValue: true },
  },
  {
    name: 'a misspelt action',
    given: { remediationStrategy, batchTimeoutAction: 'abort' },
    want: { path: ['batchTimeoutAction'], message: 'is "abort", not one of Continue, Abort', isValue: true },
  },
  { name: 'a timeout of 0', given: { remediationStrategy: { maxConcurrency: 0, timeout: 0 }, batchTimeoutAction: '' }, want: undefined },
])('$name, stored under a CRD that took it', ({ given, want }) => expect(upgrade(given)).toEqual(want));

test('characters are counted as the API server counts them, not as code units', () => {
  expect(config({ spaceRequired: '\u{1F680}'.repeat(64) })).toBeUndefined();
  expect(config({ spaceRequired: '\u{1F680}'.repeat(65) })).toMatchObject({ message: 'has 65 characters, at most 64 are accepted' });
});

test('a spec beyond the limits can still be read, so that its reader can report it', () => {
  const metadata = { name: 'large', namespace: 'default' };
  expect(
    ClusterGroupUpgrade.schema.safeParse({ metadata, spec: { remediationStrategy, clusterSelector: many(40_000, String) } }).success,
  ).toBe(true);
  expect(PreCachingConfig.schema.safeParse({ metadata, spec: { spaceRequired: '9'.repeat(64_000) } }).success).toBe(true);
});
