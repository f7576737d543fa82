import { ConfigMap } from '@flotilla/api/core';
import { PreCachingConfig, type PreCachingConfigSpec, type PrecachingSpec } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { buildPolicy, catalogSource, clusterVersion, configurationPolicy, subscription } from '../../testing/policy-builders.ts';
import { objectDefinitions } from '../policies/policy-structure.ts';
import type { SoftwarePolicy } from './policy-software.ts';
import { derivePrecachingSpec, ownWorkloadImage, type SoftwareInput } from './software-spec.ts';

const policy = (name: string, ...objects: unknown[]): SoftwarePolicy => ({
  name,
  objects: objectDefinitions(buildPolicy(name, { objects })).objects ?? [],
});
const raw = (text: string): SoftwarePolicy => {
  const read = objectDefinitions(
    buildPolicy('p', { spec: { 'policy-templates': [configurationPolicy({ 'object-templates-raw': text })] } }),
  );
  return { name: 'p', objects: read.objects ?? [], unread: read.unread };
};
const operatorPolicy = (wanted: object): SoftwarePolicy => {
  const apiVersion = 'policy.open-cluster-management.io/v1beta1';
  const definition = { apiVersion, kind: 'OperatorPolicy', metadata: { name: 'o' }, spec: { subscription: wanted } };
  const read = objectDefinitions(buildPolicy('o', { spec: { 'policy-templates': [{ objectDefinition: definition }] } }));
  return { name: 'o', objects: read.objects ?? [] };
};
const config = (spec: PreCachingConfigSpec): PreCachingConfig =>
  PreCachingConfig.schema.parse({ metadata: { name: 'config', namespace: 'ns' }, spec });
const overrides = (data: Record<string, string>): ConfigMap =>
  ConfigMap.schema.parse({ metadata: { name: 'cluster-group-upgrade-overrides', namespace: 'ns' }, data });
const derive = (input: Partial<SoftwareInput>) =>
  derivePrecachingSpec({
    policies: [],
    talmStrict: false,
    imageAllow: ['o/puller'],
    lookUpRelease: ({ upstream, channel, version }) => ({ kind: 'known', image: `${URL.parse(upstream)?.host}/${channel}/${version}` }),
    ...input,
  });

const platform = policy('platform', clusterVersion({ desiredUpdate: { image: 'q/release@sha256:1' } }));
const operators = policy(
  'operators',
  catalogSource({ image: 'q/index:1' }),
  subscription({ name: 'ptp', channel: 'stable' }),
  subscription({ name: 'sriov', channel: '4.20' }),
);
const empty: PrecachingSpec = { spaceRequired: '35' };
/** No floor of space: for operators alone the reference measures none. */
const fromOperators = {
  operatorsIndexes: ['q/index:1'],
  operatorsPackagesAndChannels: ['ptp:stable', 'sriov:4.20'],
  spaceRequired: undefined,
};

describe('the spec', () => {
  test.each<{ name: string; input: Partial<SoftwareInput>; want: Partial<PrecachingSpec> }>([
    {
      name: 'takes the platform image from a ClusterVersion',
      input: { policies: [platform] },
      want: { platformImage: 'q/release@sha256:1' },
    },
    {
      name: 'looks the platform image up where only a version is named',
      input: { policies: [policy('p', clusterVersion({ upstream: 'http://g', channel: 'c', desiredUpdate: { version: '4' } }))] },
      want: { platformImage: 'g/c/4' },
    },
    { name: 'takes indexes and packages from policies', input: { policies: [operators] }, want: fromOperators },
    {
      name: 'keeps the order of the policies and lists nothing twice',
      input: { policies: [policy('first', subscription({ name: 'sriov', channel: '4.20' })), operators, operators] },
      want: { ...fromOperators, operatorsPackagesAndChannels: ['sriov:4.20', 'ptp:stable'] },
    },
    {
      name: 'takes a package alone where the default channel of its catalogue holds',
      input: { policies: [operators, policy('p', subscription({ name: 'logging', source: 'site-operators' }))] },
      want: { ...fromOperators, operatorsPackagesAndChannels: ['ptp:stable', 'sriov:4.20', 'logging'] },
    },
    {
      name: 'takes a package alone of an OperatorPolicy that leaves channel and catalogue to the package manifest',
      input: { policies: [operators, operatorPolicy({ name: 'logging' }), operatorPolicy({ name: 'quay', channel: 'stable-3.10' })] },
      want: { ...fromOperators, operatorsPackagesAndChannels: ['ptp:stable', 'sriov:4.20', 'logging', 'quay:stable-3.10'] },
    },
    {
      name: 'takes a package alone that a PreCachingConfig names',
      input: { policies: [operators], config: config({ overrides: { operatorsPackagesAndChannels: ['ptp'] } }) },
      want: { ...fromOperators, operatorsPackagesAndChannels: ['ptp'] },
    },
    {
      name: 'ignores the same kinds of other groups',
      input: {
        policies: [
          operators,
          policy('p', { ...subscription({ name: 'x', channel: 'y' }), apiVersion: 'apps.open-cluster-management.io/v1' }),
        ],
      },
      want: fromOperators,
    },
    {
      name: 'ignores objects that name no software',
      input: {
        policies: [
          operators,
          policy(
            'p',
            { ...subscription({}), spec: undefined, status: {} },
            subscription({ installPlanApproval: 'Manual' }),
            catalogSource({ address: 'x:50051' }),
          ),
        ],
      },
      want: fromOperators,
    },
    {
      name: 'lets the PreCachingConfig replace everything it names',
      input: {
        policies: [platform, operators],
        config: config({
          overrides: { platformImage: 'o/release', operatorsIndexes: ['o/index'], operatorsPackagesAndChannels: ['a:b', ' ', 'a:b'] },
          spaceRequired: '40 GB',
          excludePrecachePatterns: ['aws'],
          additionalImages: ['o/more', ''],
        }),
        overrides: overrides({
          'operators.packagesAndChannels': 'c:d',
          excludePrecachePatterns: 'azure',
          'precache.spaceRequired': '1 GiB',
        }),
      },
      want: {
        platformImage: 'o/release',
        operatorsIndexes: ['o/index'],
        operatorsPackagesAndChannels: ['a:b'],
        excludePrecachePatterns: ['aws'],
        additionalImages: ['o/more'],
        spaceRequired: '38',
      },
    },
    {
      name: 'ignores the deprecated overrides when strict, as the reference does',
      input: {
        policies: [platform, operators],
        talmStrict: true,
        config: config({ overrides: { platformImage: 'o/release', operatorsIndexes: ['o/index'], operatorsPackagesAndChannels: ['a:b'] } }),
      },
      want: { platformImage: 'q/release@sha256:1', operatorsIndexes: ['q/index:1'], operatorsPackagesAndChannels: ['a:b'] },
    },
    {
      name: 'takes from the legacy ConfigMap what the PreCachingConfig leaves open',
      input: {
        policies: [operators],
        config: config({ overrides: { operatorsPackagesAndChannels: [] }, spaceRequired: '' }),
        overrides: overrides({
          'operators.packagesAndChannels': '\n local-storage: stable \n\nptp:1\n',
          excludePrecachePatterns: 'aws\nazure',
          'precache.spaceRequired': '10 GiB\n',
        }),
      },
      want: {
        operatorsIndexes: ['q/index:1'],
        operatorsPackagesAndChannels: ['local-storage:stable', 'ptp:1'],
        excludePrecachePatterns: ['aws', 'azure'],
        spaceRequired: '10',
      },
    },
    {
      name: 'ignores the keys of the legacy ConfigMap that the reference ignores',
      input: { policies: [platform], overrides: overrides({ 'platform.image': 'x', 'operators.indexes': 'y', 'precache.image': 'z' }) },
      want: { platformImage: 'q/release@sha256:1' },
    },
    {
      name: 'accepts packages without an index beside a platform image',
      input: { policies: [platform, policy('p', subscription({ name: 'a', channel: 'b' }))] },
      want: { platformImage: 'q/release@sha256:1', operatorsPackagesAndChannels: ['a:b'] },
    },
    {
      name: 'may consist of additional images alone',
      input: { config: config({ additionalImages: ['q/a'] }) },
      want: { additionalImages: ['q/a'] },
    },
    {
      name: 'does not look at what is overridden',
      input: {
        policies: [policy('p', clusterVersion({ channel: 'c' }), subscription({ name: 'a' }))],
        config: config({ overrides: { platformImage: 'o/r', operatorsPackagesAndChannels: ['a:b'] } }),
      },
      want: { platformImage: 'o/r', operatorsPackagesAndChannels: ['a:b'] },
    },
  ])('$name', ({ input, want }) => expect(derive(input)).toEqual({ spec: { ...empty, ...want } }));

  test.each<{ name: string; input: Partial<SoftwareInput>; want: string | undefined }>([
    { name: 'operators alone', input: { policies: [operators] }, want: undefined },
    { name: 'operators alone, strict', input: { policies: [operators], talmStrict: true }, want: '35' },
    { name: 'operators alone, set', input: { policies: [operators], config: config({ spaceRequired: '20 GiB' }) }, want: '20' },
    { name: 'operators and a platform', input: { policies: [operators, platform] }, want: '35' },
    { name: 'operators and more images', input: { policies: [operators], config: config({ additionalImages: ['q/a'] }) }, want: '35' },
  ])('asks of $name for $want GiB', ({ input, want }) => {
    const result = derive(input);
    expect(result.failure).toBeUndefined();
    expect(result).toHaveProperty('spec');
    expect('spec' in result && result.spec.spaceRequired).toBe(want);
  });

  test.each([
    { talmStrict: false, want: 'o/puller' },
    { talmStrict: true, want: undefined },
  ])('honours preCacheImage: $want when talmStrict is $talmStrict', ({ talmStrict, want }) => {
    expect(ownWorkloadImage(config({ overrides: { preCacheImage: 'o/puller' } }), talmStrict)).toBe(want);
  });
});

const prefix = 'Precaching spec is incomplete: ';
const inconsistent = `${prefix}inconsistent precaching configuration: `;
const lookup = policy('p', clusterVersion({ upstream: 'http://g', channel: 'c', desiredUpdate: { version: '4' } }));
describe('a spec is refused', () => {
  test.each<{ name: string; input: Partial<SoftwareInput>; message: string; transient?: boolean }>([
    { name: 'when nothing is named', input: {}, message: `${inconsistent}no software spec provided` },
    {
      name: 'when the image of the puller is of a place that the hub does not allow',
      input: { policies: [platform], config: config({ overrides: { preCacheImage: 'evil.example/o/puller:1' } }) },
      message: `${prefix}overrides.preCacheImage "evil.example/o/puller:1" is not allowed; the hub allows o/puller: name one of these, or add it to --precache-image-allow (PRECACHE_IMAGE_ALLOW)`,
    },
    {
      name: 'when it names an image and the hub has none of its own',
      input: { policies: [platform], imageAllow: [], config: config({ overrides: { preCacheImage: 'o/puller' } }) },
      message: `${prefix}overrides.preCacheImage "o/puller" is not allowed; the hub allows none: leave it out, or add it to --precache-image-allow (PRECACHE_IMAGE_ALLOW)`,
    },
    {
      name: 'when only additional images are named and strict',
      input: { talmStrict: true, config: config({ additionalImages: ['q/a'] }) },
      message: `${inconsistent}no software spec provided`,
    },
    {
      name: 'when an index has no packages',
      input: { policies: [platform, policy('p', catalogSource({ image: 'q/i' }))] },
      message: `${inconsistent}olm index provided, but no packages`,
    },
    {
      name: 'when the PreCachingConfig is not there',
      input: { policies: [platform], configRef: { name: 'gone' } },
      message: `${prefix}failed to get PreCachingConfig resource due to PreCachingConfig.ran.openshift.io "gone" not found`,
    },
    {
      name: 'when the space is no size',
      input: { policies: [platform], config: config({ spaceRequired: 'lots' }) },
      message: `${prefix}PreCachingConfig cannot be used: spec.spaceRequired of ns/config "lots" is not a size; write a number and a unit, for example 40 GiB`,
    },
    {
      name: 'when the cap is no number of bytes',
      input: {
        policies: [platform],
        config: { ...config({}), metadata: { name: 'config', namespace: 'ns', annotations: { 'flotilla.io/bandwidth': '8 MB' } } },
      },
      message: `${prefix}PreCachingConfig cannot be used: annotation flotilla.io/bandwidth is "8 MB"; write bytes a second as a whole number from 16384 to 1000000000000`,
    },
    {
      name: 'a rule for nodes that is none',
      input: {
        policies: [platform],
        config: { ...config({}), metadata: { name: 'config', namespace: 'ns', annotations: { 'flotilla.io/absent-nodes': 'no' } } },
      },
      message: `${prefix}PreCachingConfig cannot be used: annotation flotilla.io/absent-nodes is "no"; write fail or ignore`,
    },
    {
      name: 'when the space of the ConfigMap is no size',
      input: { policies: [platform], overrides: overrides({ 'precache.spaceRequired': '-3' }) },
      message: `${prefix}precache.spaceRequired of ConfigMap ns/cluster-group-upgrade-overrides "-3" is not a size; write a number and a unit, for example 40 GiB`,
    },
    {
      name: 'when a Subscription has no channel',
      input: { policies: [policy('ops', subscription({ name: 'a' }))] },
      message: `${prefix}spec.channel is missing in Subscription "sub" of policy ops; set it, or set overrides.operatorsPackagesAndChannels in a PreCachingConfig`,
    },
    {
      name: 'when an OperatorPolicy names no package',
      input: { policies: [operatorPolicy({ channel: 'stable' })] },
      message: `${prefix}spec.name is missing in Subscription of policy o; set it, or set overrides.operatorsPackagesAndChannels in a PreCachingConfig`,
    },
    {
      name: 'when a Subscription has a channel of the wrong type',
      input: { policies: [policy('ops', subscription({ name: 'a', channel: 4.2 }))] },
      message: `${prefix}spec.channel is not a text in Subscription "sub" of policy ops; quote it`,
    },
    {
      name: 'when a CatalogSource has no image',
      input: { policies: [policy('ops', catalogSource({ displayName: 'x' }))] },
      message: `${prefix}spec.image is missing in CatalogSource "catalog" of policy ops; set it, or set overrides.operatorsIndexes in a PreCachingConfig`,
    },
    {
      name: 'when only the cluster can resolve a value',
      input: {
        policies: [
          raw(
            `- objectDefinition: {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, spec: {name: a, channel: "{{ .channel }}"}}`,
          ),
        ],
      },
      message: `${prefix}spec.channel "placeholder" is a template in Subscription of policy p, which only the cluster can resolve; set overrides.operatorsPackagesAndChannels in a PreCachingConfig`,
    },
    {
      name: 'when two policies want different images',
      input: { policies: [platform, policy('p', clusterVersion({ desiredUpdate: { image: 'other' } }))] },
      message: `${prefix}platform image defined more then once with conflicting image values`,
    },
    {
      name: 'for now, when the update graph does not answer',
      input: {
        policies: [lookup],
        lookUpRelease: () => ({
          kind: 'failed',
          code: 'FLOTILLA_UPDATE_GRAPH_REFUSED',
          message: 'error response from update graph url http://g: 503',
        }),
      },
      message: `${prefix}error response from update graph url http://g: 503`,
      transient: true,
    },
    {
      name: 'when an image has a line break',
      input: { config: config({ additionalImages: ['q/a\nq/b'] }) },
      message: `${prefix}additionalImages "q/a\\nq/b" is not an image reference; write registry/repository@digest`,
    },
    {
      name: 'when an image has a scheme, as no pod names one',
      input: { config: config({ additionalImages: ['q/a', 'oci://q/b:1'] }) },
      message: `${prefix}additionalImages "oci://q/b:1" is not an image reference; write registry/repository@digest`,
    },
    {
      name: 'when an image looks like an option',
      input: { config: config({ overrides: { platformImage: '--all' } }) },
      message: `${prefix}platformImage "--all" is not an image reference; write registry/repository@digest`,
    },
    {
      name: 'when a pattern has a line break',
      input: { policies: [platform], config: config({ excludePrecachePatterns: ['a\nb'] }) },
      message: `${prefix}excludePrecachePatterns entry "a\\nb" has a line break; make it two entries`,
    },
    {
      name: 'when a package has no channel',
      input: { policies: [platform], config: config({ overrides: { operatorsPackagesAndChannels: ['ptp:'] } }) },
      message: `${prefix}operatorsPackagesAndChannels entry "ptp:" is not a package and a channel; write package:channel, or package for its default channel`,
    },
    {
      name: 'when no puller takes an image',
      input: { config: config({ additionalImages: ['q/a', 'q/b:$(id)'] }) },
      message: `${prefix}additionalImages "q/b:$(id)" is not an image reference; write registry/repository@digest`,
    },
    {
      name: 'when no puller takes the image of an index',
      input: { policies: [operators], config: config({ overrides: { operatorsIndexes: ['q/index"x'] } }) },
      message: `${prefix}operatorsIndexes "q/index\\"x" is not an image reference; write registry/repository@digest`,
    },
    {
      name: 'when no puller takes a pattern',
      input: { policies: [platform], config: config({ excludePrecachePatterns: ['^fine', 'a\\{2,1\\}'] }) },
      message: `${prefix}excludePrecachePatterns: the pattern "a\\\\{2,1\\\\}" has an invalid repeat count: {2,1}; patterns are POSIX basic regular expressions (grep -G)`,
    },
    {
      name: 'when no puller takes as many patterns',
      input: {
        policies: [platform],
        overrides: overrides({ excludePrecachePatterns: Array.from({ length: 1_001 }, (_, index) => `p${index}`).join('\n') }),
      },
      message: `${prefix}excludePrecachePatterns has 1001 patterns, at most 1000 are allowed`,
    },
    {
      name: 'when no puller takes a package, strict too',
      input: { talmStrict: true, policies: [operators], config: config({ overrides: { operatorsPackagesAndChannels: ['ptp:a:b'] } }) },
      message: `${prefix}operatorsPackagesAndChannels entry "ptp:a:b" is not a package and a channel; write package:channel, or package for its default channel`,
    },
    {
      name: 'when the PreCachingConfig is beyond what is accepted',
      input: { policies: [platform], config: config({ spaceRequired: '9'.repeat(64_000) }) },
      message: `${prefix}PreCachingConfig cannot be used: spec.spaceRequired of ns/config has 64000 characters, at most 64 are accepted; shorten it`,
    },
    {
      name: 'when a list of it is',
      input: { talmStrict: true, policies: [platform], config: config({ additionalImages: Array.from({ length: 10_001 }, String) }) },
      message: `${prefix}failed to get PreCachingConfig resource due to spec.additionalImages of ns/config has 10001 entries, at most 10000 are accepted; shorten it`,
    },
    {
      name: 'when it is huge',
      input: { config: config({ additionalImages: Array.from({ length: 10_000 }, (_, index) => `quay.io/${index}`) }) },
      message: `${prefix}all values together have 149037 characters; at most 131072 are accepted, shorten the lists`,
    },
  ])('$name', ({ input, message, transient = false }) => {
    expect(derive(input)).toEqual({ failure: { reason: 'PrecacheSpecIncomplete', message, transient } });
  });

  test('not yet while the release is looked up, unless nobody needs it', () => {
    const lookUpRelease = () => ({ kind: 'pending' }) as const;
    expect(derive({ policies: [lookup], lookUpRelease })).toEqual({ pending: true });
    const named = config({ overrides: { platformImage: 'q/r@sha256:1' } });
    expect(derive({ policies: [lookup], config: named, lookUpRelease })).toMatchObject({ spec: { platformImage: 'q/r@sha256:1' } });
  });
});

describe('a policy with a text that cannot be read', () => {
  const unreadable = raw('a: [b');

  test('is named beside what the others say', () => {
    const { spec, note } = { note: undefined, spec: undefined, ...derive({ policies: [unreadable, platform] }) };
    expect(spec).toMatchObject({ platformImage: 'q/release@sha256:1' });
    expect(note).toMatch(/^nothing is derived from what cannot be read: p: spec\.policy-templates\[0\].* is no YAML/);
  });

  test('is named where nothing else is left', () => {
    expect(derive({ policies: [unreadable] })).toMatchObject({
      failure: { message: expect.stringMatching(/no software spec provided; nothing is derived from what cannot be read: p: /) },
    });
  });
});
