import { createServer, type Server } from 'node:http';
import { ConfigMap, Namespace } from '@flotilla/api/core';
import { PreCachingConfig } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect, test } from 'vitest';
import { eachAttempt } from '../world.ts';
import { clusterVersion, createPolicy, operator } from './policies.ts';
import { PLATFORM, World } from './world.ts';

const RELEASE = `registry.test/policy-release@sha256:${'b'.repeat(64)}`;
const PAYLOAD = `registry.test/graph-release@sha256:${'c'.repeat(64)}`;
const INDEX = `registry.test/index@sha256:${'d'.repeat(64)}`;
const spokes = ['image', 'operators', 'overridden', 'legacy', 'graph', 'edited', 'mended', 'extra', 'strict'];

let world: World;
let graph: Server;
const asked: string[] = [];

eachAttempt(
  async () => {
    asked.length = 0;
    graph = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          nodes: [
            { version: '4.20.1', payload: 'other' },
            { version: '4.20.2', payload: PAYLOAD },
          ],
          edges: [],
        }),
      );
    });
    await new Promise<void>((resolve) => graph.listen(0, '127.0.0.1', resolve));
    const address = graph.address();
    const host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    // Nobody is asked on loopback unless it is named.
    world = await World.start({ spokes, hubArgs: ['--update-graph-allow', host] });
    // The job stays, and with it the ConfigMap it reads.
    for (const name of spokes) world.spokes.setFaults(name, { jobNeverStarts: true });
    await createPolicy(world.client, 'platform', { objects: [clusterVersion({ desiredUpdate: { image: RELEASE } })], clusters: spokes });
    await createPolicy(world.client, 'operators', { objects: operator('logging', 'stable', INDEX), clusters: spokes });
  },
  async () => {
    await world?.stop();
    graph?.close();
  },
);

const both = { managedPolicies: ['platform', 'operators'] };
const noConfig = { preCachingConfigRef: {} };

/** What the spoke was told to pull, once it was told. */
async function told(cluster: string): Promise<unknown> {
  const map = await eventually(() => world.readOn(cluster, 'ConfigMap', 'pre-cache-spec'), `the spec on ${cluster}`);
  return ConfigMap.schema.parse(map).data;
}
const specOf = async (name: string) => (await world.get(name))?.status?.precaching?.spec;

describe('where the spec comes from', () => {
  test('policies: ClusterVersion image, Subscription and CatalogSource', async () => {
    await world.upgrade('operators', ['operators'], { ...both, ...noConfig });
    expect(await told('operators')).toEqual({
      'platform.image': RELEASE,
      'operators.indexes': INDEX,
      'operators.packagesAndChannels': 'logging:stable',
      excludePrecachePatterns: '',
      additionalImages: '',
      spaceRequired: '35',
    });
    expect(await specOf('operators')).toEqual({
      platformImage: RELEASE,
      operatorsIndexes: [INDEX],
      operatorsPackagesAndChannels: ['logging:stable'],
      spaceRequired: '35',
    });
    const status = (await world.get('operators'))?.status;
    expect(status?.managedPoliciesForUpgrade).toEqual([
      { name: 'platform', namespace: 'policies' },
      { name: 'operators', namespace: 'policies' },
    ]);
  });

  test('PreCachingConfig replaces what policies say', async () => {
    const overrides = {
      platformImage: 'registry.test/own:1',
      operatorsIndexes: ['registry.test/own-index:1'],
      operatorsPackagesAndChannels: ['own: fast'],
      preCacheImage: 'registry.test/image-puller/own:1',
    };
    await configure('overrides', {
      overrides,
      spaceRequired: '40 GB',
      excludePrecachePatterns: ['aws', 'azure'],
      additionalImages: ['registry.test/more:1'],
    });
    await world.upgrade('overridden', ['overridden'], { ...both, preCachingConfigRef: { name: 'overrides' } });
    expect(await told('overridden')).toEqual({
      'platform.image': 'registry.test/own:1',
      'operators.indexes': 'registry.test/own-index:1',
      'operators.packagesAndChannels': 'own:fast',
      excludePrecachePatterns: 'aws\nazure',
      additionalImages: 'registry.test/more:1',
      spaceRequired: '38',
    });
    const job = await eventually(() => world.readOn('overridden', 'Job', 'pre-cache'), 'the job');
    expect(JSON.stringify(job)).toContain('"image":"registry.test/image-puller/own:1"');
  });

  test('the legacy ConfigMap comes between', async () => {
    await world.client.create(Namespace, { metadata: { name: 'legacy-ns' } });
    const data = {
      'operators.packagesAndChannels': ' legacy:old \n\n',
      excludePrecachePatterns: 'gcp\n',
      'precache.spaceRequired': '20GiB',
      'platform.image': 'ignored',
    };
    await world.client.create(ConfigMap, { metadata: { name: 'cluster-group-upgrade-overrides', namespace: 'legacy-ns' }, data });
    await world.upgrade('legacy-ns/legacy', ['legacy'], { ...both, ...noConfig });
    expect(await told('legacy')).toMatchObject({
      'platform.image': RELEASE,
      'operators.indexes': INDEX,
      'operators.packagesAndChannels': 'legacy:old',
      excludePrecachePatterns: 'gcp',
      spaceRequired: '20',
    });
  });

  test('additional images alone are a spec', async () => {
    await configure('extra', { additionalImages: ['registry.test/more:1', 'registry.test/more:2'] });
    await world.upgrade('extra', ['extra'], { preCachingConfigRef: { name: 'extra' } });
    expect(await told('extra')).toMatchObject({ additionalImages: 'registry.test/more:1\nregistry.test/more:2', 'platform.image': '' });
  });

  test('the update graph gives the image of a version', async () => {
    const address = graph.address();
    const upstream = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/graph`;
    await createPolicy(world.client, 'by-version', {
      objects: [clusterVersion({ upstream, channel: 'stable-4.20', desiredUpdate: { version: '4.20.2' } })],
      clusters: ['graph'],
    });
    await world.upgrade('graph', ['graph'], { managedPolicies: ['by-version'], ...noConfig });
    expect(await told('graph')).toMatchObject({ 'platform.image': PAYLOAD });
    expect(asked).toContain('/graph?channel=stable-4.20');
  });
});

describe('edits', () => {
  test('before the job starts count', async () => {
    await configure('edited', { overrides: { platformImage: 'registry.test/old:1' } });
    await world.setAvailable('edited', false);
    await world.upgrade('edited', ['edited'], { preCachingConfigRef: { name: 'edited' } });
    await world.untilStates('edited', { edited: 'PreparingToStart' });
    await world.client.patch(
      PreCachingConfig,
      { namespace: 'default', name: 'edited' },
      { spec: { overrides: { platformImage: 'registry.test/new:1' } } },
      { type: 'merge' },
    );
    await eventually(async () => (await specOf('edited'))?.platformImage === 'registry.test/new:1', 'the status to have the new image');
    await world.setAvailable('edited', true);
    expect(await told('edited')).toMatchObject({ 'platform.image': 'registry.test/new:1' });
    expect(world.spokes.jobsCreated('edited').length).toBeLessThanOrEqual(1);
  });

  test('that mend a spec are noticed at once', async () => {
    await configure('mended', { spaceRequired: 'lots', overrides: { platformImage: PLATFORM } });
    await world.upgrade('mended', ['mended'], { preCachingConfigRef: { name: 'mended' } });
    await world.untilCondition(
      'mended',
      'PrecacheSpecValid',
      /^False PrecacheSpecIncomplete: .*spaceRequired of default\/mended "lots" is not a size/,
    );
    await world.client.patch(
      PreCachingConfig,
      { namespace: 'default', name: 'mended' },
      { spec: { spaceRequired: '10 GiB' } },
      { type: 'merge' },
    );
    expect(await told('mended')).toMatchObject({ spaceRequired: '10' });
    expect(await world.condition('mended', 'PrecacheSpecValid')).toBe(
      'True PrecacheSpecIsWellFormed: Precaching spec is valid and consistent',
    );
  });
});

test('an image of the puller that the hub does not allow is a condition that names what is', async () => {
  await configure('foreign', { overrides: { platformImage: RELEASE, preCacheImage: 'evil.test/puller:1' } });
  await world.upgrade('foreign', ['overridden'], { preCachingConfigRef: { name: 'foreign' } });
  await world.untilCondition(
    'foreign',
    'PrecacheSpecValid',
    'False PrecacheSpecIncomplete: Precaching spec is incomplete: overrides.preCacheImage "evil.test/puller:1" is not allowed; ' +
      'the hub allows registry.test/image-puller: name one of these, or add it to --precache-image-allow (PRECACHE_IMAGE_ALLOW)',
  );
});

test('with --talm-strict the overrides that the reference ignores are ignored', async () => {
  await world.hub?.stop();
  await world.startHub({ args: ['--talm-strict'] });
  const overrides = {
    platformImage: 'registry.test/own:1',
    operatorsIndexes: ['registry.test/own-index:1'],
    operatorsPackagesAndChannels: ['own:fast'],
    preCacheImage: 'registry.test/image-puller/own:1',
  };
  await configure('strict', { overrides });
  await world.upgrade('strict', ['strict'], { ...both, preCachingConfigRef: { name: 'strict' } });
  expect(await told('strict')).toMatchObject({
    'platform.image': RELEASE,
    'operators.indexes': INDEX,
    'operators.packagesAndChannels': 'own:fast',
  });
  const job = await eventually(() => world.readOn('strict', 'Job', 'pre-cache'), 'the job');
  expect(JSON.stringify(job)).not.toContain('image-puller/own');
});

const configure = (name: string, spec: Record<string, unknown>) =>
  world.client.create(PreCachingConfig, { metadata: { name, namespace: 'default' }, spec });
