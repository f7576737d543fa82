import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { clusterObstacle, parseRate, type Served } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { parseImageReference } from '@flotilla/registry';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FixtureImage, ReleaseFixture } from '../../tools/src/fleets/release-fixture.ts';
import { followPrecaching } from '../../tools/src/fleets/upgrade-progress.ts';
import { createUpgrade, type PrecacheFleet, seedOf, startPrecacheFleet } from '../fixtures/precache-fleet.ts';

/** A whole cluster of three nodes behind one link, with hub and agent installed from the charts. */

const obstacle = clusterObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

const RATE = '50mbit';
const SPOKE = 'spoke-1';
const FURTHER = [{ name: 'node-2' }, { name: 'node-3' }];
const NODES = [SPOKE, ...FURTHER.map(({ name }) => name)];
/** `FLOTILLA_NODES_BYTES` pulls more: 200 MB take half a minute at this rate. */
const { nodesBytes: RELEASE_BYTES } = readEnvironment();
/** Bytes from which the link's time outweighs that of starting pods. */
const IS_MEASURED = RELEASE_BYTES >= 100_000_000;

let world: PrecacheFleet;

/** Bytes of these images' layers that were sent. */
function layerBytes(served: Served, images: readonly FixtureImage[]): number {
  const digests = new Set(images.flatMap(({ layers }) => layers.map(({ digest }) => digest)));
  return [...digests].reduce((sum, digest) => sum + (served.byDigest.get(digest) ?? 0), 0);
}

/** Pre-caches a release of this seed, and says what crossed the link in which time. */
async function precache(name: string, seed: number): Promise<{ readonly release: ReleaseFixture }> {
  const { fleet } = world;
  const release = await world.pushRelease({ seed, totalBytes: RELEASE_BYTES });
  const { length: since } = (await fleet.registry.served()).requests;
  const begunAt = performance.now();
  await using _upgrade = await createUpgrade(world, name, release.release.pullSpec, [SPOKE]);
  const { client } = fleet.hub;
  const ref = { namespace: 'default', name };
  const [end] = await followPrecaching(client, ref, { spokes: [SPOKE], withinMs: 600_000, signal: new AbortController().signal });
  const took = (performance.now() - begunAt) / 1_000;
  expect(end?.state).toBe('Succeeded');

  const served = await fleet.registry.served({ since });
  const sent = layerBytes(served, [release.release, ...release.components]);
  const beside = [...served.byDigest.values()].reduce((sum, bytes) => sum + bytes, -sent);
  const linkSeconds = (bytes: number): string => ((bytes * 8) / parseRate(RATE)).toFixed(1);
  const ratio = sent / release.releaseBytes;
  console.log(
    `three nodes: ${sent} sent for ${release.releaseBytes}: ${ratio.toFixed(4)}, and ${beside} beside it, such as the puller's own image; ` +
      `${took.toFixed(1)} s, the link's ${linkSeconds(sent)} s, with all ${linkSeconds(sent + beside)} s`,
  );
  expect(ratio).toBeLessThanOrEqual(1.02);
  const upgrade = await client.get(ClusterGroupUpgrade, ref);
  expect(upgrade?.status?.precaching?.nodes).toMatchObject({ total: 3, done: 3, failed: 0, absent: 0 });
  return { release };
}

describe.skipIf(obstacle !== undefined)('pre-caching on a cluster of three nodes', () => {
  beforeAll(async () => {
    world = await startPrecacheFleet(1, { hubValues: { transport: 'work' }, spokeNodes: { nodes: FURTHER } });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test('fills every node over a link that is paid once, and every image starts on every node with the link cut', async (context) => {
    const [spoke] = world.fleet.spokes;
    const cluster = world.fleet.clusters.get(SPOKE);
    if (!spoke || !cluster) throw new Error('no spoke');
    await spoke.setRate(RATE);
    const first = await precache('nodes', seedOf(context, 31));
    // The nodes have the puller's own image by now, so the link's time is that of the release alone.
    const release = IS_MEASURED ? (await precache('nodes-again', seedOf(context, 32))).release : first.release;
    const images = [release.release, ...release.components];

    for (const [name, node] of [[SPOKE, cluster], ...cluster.nodes.map((each) => [each.name, each] as const)] as const) {
      const held = new Map((await node.images()).map((image) => [image.name, image.digest]));
      for (const { pullSpec } of images) expect(held.get(pullSpec), name).toBe(parseImageReference(pullSpec).digest);
    }
    await eventually(
      async () => !(await spoke.kubectl(['get', 'namespaces', '-o', 'name'])).includes('openshift-talo-pre-cache'),
      'everything of it to be gone',
      120_000,
    );
    await spoke.cutLink();
    try {
      for (const node of NODES) {
        const { up, failures } = await spoke.startImages(release.components, 120_000, node);
        expect({ node, up, failures }).toEqual({ node, up: release.components.length, failures: {} });
      }
    } finally {
      await spoke.restoreLink();
    }
  });
});
