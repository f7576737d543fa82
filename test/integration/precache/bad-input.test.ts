import { conditionTime } from '@flotilla/api';
import { ConfigMap, Namespace } from '@flotilla/api/core';
import { ManagedClusterView } from '@flotilla/api/ocm';
import { PreCachingConfig } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect, test } from 'vitest';
import { eachAttempt } from '../world.ts';
import { clusterVersion, createPolicy } from './policies.ts';
import { World } from './world.ts';

let world: World;
const strategy = { maxConcurrency: 1, timeout: 240 };
const REFUSED = 'Unable to select clusters: ';

eachAttempt(
  async () => {
    world = await World.start({ spokes: ['target', 'healthy', 'hostile'], job: { seconds: 20 } });
    await world.upgrade('healthy', ['healthy']);
  },
  async () => world?.stop(),
);

function deep(depth: number): unknown {
  let value: unknown = 'end';
  for (let level = 0; level < depth; level++) value = { inside: value };
  return value;
}

describe('clusters that cannot be selected', () => {
  test.each([
    { name: 'unknown-cluster', clusters: ['target', 'nobody'], spec: {}, want: `${REFUSED}cluster nobody is not a ManagedCluster` },
    {
      name: 'no-clusters',
      clusters: undefined,
      spec: {},
      want: `${REFUSED}cannot obtain all the details about the clusters in the CR: no cluster specified for remediation`,
    },
    {
      name: 'unknown-operator',
      clusters: undefined,
      spec: { clusterLabelSelectors: [{ matchExpressions: [{ key: 'a', operator: 'Near', values: ['b'] }] }] },
      want: `${REFUSED}cannot obtain all the details about the clusters in the CR: spec.clusterLabelSelectors[0].matchExpressions[0].operator "Near" is not known; use In, NotIn, Exists or DoesNotExist`,
    },
    {
      name: 'stray-canary',
      clusters: ['target'],
      spec: { remediationStrategy: { ...strategy, canaries: ['healthy'] } },
      want: `${REFUSED}canary cluster healthy is not in the list of clusters`,
    },
  ])('$name', async ({ name, clusters, spec, want }) => {
    await world.upgrade(name, clusters, spec);
    await world.untilCondition(name, 'ClustersSelected', `False ClusterNotFound: ${want}`);
  });
});

describe('policies that cannot be used', () => {
  const policies: { name: string; objects: unknown; copied?: unknown; want: RegExp }[] = [
    {
      name: 'text-for-a-list',
      objects: 'none',
      want: /^False NotAllManagedPoliciesExist: Invalid managed policies: \[text-for-a-list\]/,
    },
    { name: 'list-of-numbers', objects: [1, 2], want: /Invalid managed policies: \[list-of-numbers\]/ },
    {
      name: 'hub-template',
      objects: [clusterVersion({ channel: 'x' })],
      copied: [clusterVersion({ channel: '{{hub fromConfigMap "" "a" "b" hub}}' })],
      want: /Invalid managed policies: \[hub-template\]/,
    },
    { name: 'deep', objects: [deep(3000)], want: /Invalid managed policies: \[deep\]/ },
    { name: 'huge', objects: Array.from({ length: 21_000 }, (_, i) => ({ kind: 'A', n: i })), want: /Invalid managed policies: \[huge\]/ },
    {
      name: 'number-for-an-image',
      objects: [clusterVersion({ desiredUpdate: { image: 7 } })],
      want: /^False InvalidPlatformImage: ClusterVersion field image is not a text; quote its value$/,
    },
    {
      name: 'image-with-a-space',
      objects: [clusterVersion({ desiredUpdate: { image: 'registry.test/a b' } })],
      want: /^False InvalidPlatformImage: ClusterVersion image "registry.test\/a b" has a space in it$/,
    },
    {
      name: 'no-upstream',
      objects: [clusterVersion({ desiredUpdate: { version: '4.20.1' } })],
      want: /^False InvalidPlatformImage: policy with ClusterVersion must have upstream, channel, and version when image is not provided$/,
    },
    {
      name: 'graph-on-the-hub-itself',
      objects: [clusterVersion({ upstream: 'http://127.0.0.1:9/graph', channel: 'c', desiredUpdate: { version: '1' } })],
      want: /^False InvalidPlatformImage: unable to request update graph on url http:\/\/127\.0\.0\.1:9\/graph\?channel=c: 127\.0\.0\.1:9 has an address of the hub's own/,
    },
    {
      name: 'closed-graph',
      objects: [clusterVersion({ upstream: 'http://graph.invalid/graph', channel: 'c', desiredUpdate: { version: '1' } })],
      want: /^False InvalidPlatformImage: unable to request update graph on url http:\/\/graph\.invalid\/graph\?channel=c: connection failed \(E\w+\)$/,
    },
  ];
  test.each(policies)('$name', async ({ name, objects, copied, want }) => {
    await createPolicy(world.client, name, { objects, clusters: ['target'], ...(copied !== undefined && { copied }) });
    await world.upgrade(name, ['target'], { managedPolicies: [name] });
    await world.untilCondition(name, 'Validated', want);
  });

  test('missing and ambiguous ones', async () => {
    await world.upgrade('missing', ['target'], { managedPolicies: ['nowhere', 'neither'] });
    await world.untilCondition('missing', 'Validated', 'False NotAllManagedPoliciesExist: Missing managed policies: [nowhere neither] ');
    for (const namespace of ['ns-1', 'ns-2']) await createPolicy(world.client, 'twice', { namespace, objects: [], clusters: ['target'] });
    await world.upgrade('twice', ['target'], { managedPolicies: ['twice'] });
    await world.untilCondition(
      'twice',
      'Validated',
      'False AmbiguousManagedPoliciesNames: Managed policy name should be unique, but was found in multiple namespaces: {"twice":["ns-1","ns-2"]} ',
    );
  });
});

describe('specs that cannot be used', () => {
  const INCOMPLETE = 'False PrecacheSpecIncomplete: Precaching spec is incomplete: ';
  const image = { platformImage: 'registry.test/release:1' };
  const specs: { name: string; config: Record<string, unknown>; want: string }[] = [
    {
      name: 'no-size',
      config: { overrides: image, spaceRequired: '-1 GiB' },
      want: 'PreCachingConfig cannot be used: spec.spaceRequired of default/no-size "-1 GiB" is not a size; write a number and a unit, for example 40 GiB',
    },
    {
      name: 'no-image',
      config: { overrides: { platformImage: 'a b' } },
      want: 'platformImage "a b" is not an image reference; write registry/repository@digest',
    },
    {
      name: 'an-option',
      config: { additionalImages: ['--rm'] },
      want: 'additionalImages "--rm" is not an image reference; write registry/repository@digest',
    },
    {
      name: 'no-packages',
      config: { overrides: { operatorsIndexes: ['registry.test/index:1'] } },
      want: 'inconsistent precaching configuration: olm index provided, but no packages',
    },
    { name: 'nothing', config: {}, want: 'inconsistent precaching configuration: no software spec provided' },
    {
      name: 'no-channel',
      config: { overrides: { ...image, operatorsPackagesAndChannels: ['logging:'] } },
      want: 'operatorsPackagesAndChannels entry "logging:" is not a package and a channel; write package:channel, or package for its default channel',
    },
    {
      name: 'two-lines',
      config: { overrides: image, excludePrecachePatterns: ['a\nb'] },
      want: 'excludePrecachePatterns entry "a\\nb" has a line break; make it two entries',
    },
    {
      name: 'too-long',
      config: {
        overrides: image,
        additionalImages: Array.from({ length: 4000 }, (_, i) => `registry.test/image-number-${i}@sha256:${'0'.repeat(20)}`),
      },
      want: 'all values together have',
    },
  ];
  test.each(specs)('$name', async ({ name, config, want }) => {
    await world.client.create(PreCachingConfig, { metadata: { name, namespace: 'default' }, spec: config });
    await world.upgrade(`spec-${name}`, ['target'], { preCachingConfigRef: { name } });
    const said = async () => (await world.condition(`spec-${name}`, 'PrecacheSpecValid'))?.startsWith(INCOMPLETE + want);
    await eventually(said, `the condition to be ${want}`);
  });

  test('a PreCachingConfig that does not exist', async () => {
    await world.upgrade('no-config', ['target'], { preCachingConfigRef: { name: 'none' } });
    await world.untilCondition(
      'no-config',
      'PrecacheSpecValid',
      `${INCOMPLETE}failed to get PreCachingConfig resource due to PreCachingConfig.ran.openshift.io "none" not found`,
    );
  });

  test('a legacy ConfigMap of garbage', async () => {
    await world.client.create(Namespace, { metadata: { name: 'garbage' } });
    await world.client.create(ConfigMap, {
      metadata: { name: 'cluster-group-upgrade-overrides', namespace: 'garbage' },
      data: { 'precache.spaceRequired': '\u0000\u001f', excludePrecachePatterns: 'x'.repeat(10) },
    });
    await world.upgrade('garbage/legacy', ['target'], { preCachingConfigRef: { name: 'config', namespace: 'default' } });
    await world.untilCondition(
      'garbage/legacy',
      'PrecacheSpecValid',
      /^False PrecacheSpecIncomplete: .*precache\.spaceRequired of ConfigMap garbage\/cluster-group-upgrade-overrides/,
    );
  });
});

describe('answers that are no answers', () => {
  const identity = { name: 'pre-cache', namespace: 'openshift-talo-pre-cache' };
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: identity };
  const hostile: { name: string; result: Record<string, unknown>; message: RegExp }[] = [
    {
      name: 'another object',
      result: { ...job, metadata: { ...identity, name: 'other' }, status: { succeeded: 1 } },
      message: /^cannot see job pre-cache on the cluster: the answer is about Job other; see/,
    },
    {
      name: 'another kind',
      result: { ...job, kind: 'CronJob', status: { succeeded: 1 } },
      message: /the answer is about CronJob pre-cache; see/,
    },
    {
      name: 'counts that are texts',
      result: { ...job, status: { succeeded: 'yes' } },
      message: /^the status of job pre-cache is malformed$/,
    },
    {
      name: 'conditions that are no list',
      result: { ...job, status: { conditions: { type: 'Failed' } } },
      message: /^the status of job pre-cache is malformed$/,
    },
    { name: 'a deep status', result: { ...job, status: { active: deep(2000) } }, message: /^the status of job pre-cache is malformed$/ },
    {
      name: 'a huge one',
      result: { ...job, spec: { filler: 'x'.repeat(900_000) }, status: {} },
      message: /^job pre-cache has no running pod yet$/,
    },
  ];

  test('none of them is a verdict, and a later real one counts', async () => {
    world.spokes.setFaults('hostile', { jobNeverStarts: true });
    await world.upgrade('hostile', ['hostile']);
    await world.untilStates('hostile', { hostile: 'Starting' });
    await eventually(async () => (await world.hubObjects('hostile')).includes('view-precache-job'), 'the view of the job');
    await eventually(async () => (await world.message('hostile', 'hostile')) === 'job pre-cache has no running pod yet');
    world.spokes.disconnect('hostile');
    for (const { name, result, message } of hostile) {
      await answer(result);
      await eventually(async () => message.test((await world.message('hostile', 'hostile')) ?? ''), `the message for ${name}`, 15_000);
      expect(await world.states('hostile'), name).toEqual({ hostile: 'Starting' });
    }
    await answer({ ...job, status: { succeeded: 1 } });
    await world.untilStates('hostile', { hostile: 'Succeeded' });
  });

  async function answer(result: unknown): Promise<void> {
    const condition = {
      type: 'Processing',
      status: 'True',
      reason: 'GetResourceProcessing',
      message: 'ok',
      lastTransitionTime: conditionTime(Date.now()),
    };
    const ref = { namespace: 'hostile', name: 'view-precache-job' };
    await world.client.patch(
      ManagedClusterView,
      ref,
      { status: { conditions: [condition], result: null } },
      { type: 'merge', subresource: 'status' },
    );
    await world.client.patch(ManagedClusterView, ref, { status: { result } }, { type: 'merge', subresource: 'status' });
  }
});

test('all the while the hub lives, nothing was done to the target, and the healthy upgrade completed', async () => {
  expect(world.hub?.hasExited()).toBe(false);
  expect(world.spokes.events('target')).toEqual([]);
  expect(await world.hubObjects('target')).toEqual([]);
  await world.untilStates('healthy', { healthy: 'Succeeded' });
  expect(world.spokes.jobsCreated('healthy')).toHaveLength(1);
});
