import { Annotation } from '@flotilla/api';
import { type Cluster, clusterObstacle } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { parseImageReference } from '@flotilla/registry';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createUpgrade, type PrecacheFleet, seedOf, startPrecacheFleet } from '../fixtures/precache-fleet.ts';
import type { ReleaseFixture } from '../support/release-fixture.ts';
import { followPrecaching } from '../support/upgrade-progress.ts';

/** A kubelet that collects every image it may, on a whole cluster with a containerd that knows pins, with hub and agent from the charts. */

/** The suite proves the rest: what the hub plans, carried out on a real containerd, which then says by CRI what is pinned. */
const { FLOTILLA_PINS_CLUSTER: WANTED } = z.object({ FLOTILLA_PINS_CLUSTER: z.enum(['on', 'off']).default('off') }).parse(process.env);
const obstacle = WANTED === 'on' ? clusterObstacle() : 'a whole fleet takes over a minute; FLOTILLA_PINS_CLUSTER=on runs it';

const SPOKE = 'spoke-1';
/** Below what any disk has in use, and an age that every image has: such a kubelet collects as soon as it starts. */
const COLLECTING = {
  imageGCHighThresholdPercent: 2,
  imageGCLowThresholdPercent: 1,
  imageMinimumGCAge: '1ns',
  imageMaximumGCAge: '2ns',
};

let world: PrecacheFleet;

const imagesOf = (release: ReleaseFixture) => [release.release, ...release.components].map(({ pullSpec }) => pullSpec);

/** The names of these images under which the node has what they mean. */
async function heldOf(cluster: Cluster, pullSpecs: readonly string[]): Promise<string[]> {
  const held = new Map((await cluster.images()).map(({ name, digest }) => [name, digest]));
  return pullSpecs.filter((pullSpec) => held.get(pullSpec) === parseImageReference(pullSpec).digest);
}

async function precache(name: string, release: ReleaseFixture, annotations = {}): Promise<AsyncDisposable> {
  const upgrade = await createUpgrade(world, name, release.release.pullSpec, [SPOKE], annotations);
  const options = { spokes: [SPOKE], withinMs: 180_000, signal: new AbortController().signal };
  const [end] = await followPrecaching(world.fleet.hub.client, { namespace: 'default', name }, options);
  expect(end?.state, end?.message).toBe('Succeeded');
  return upgrade;
}

describe('pins on a whole cluster', () => {
  beforeAll(async () => {
    if (obstacle) return;
    world = await startPrecacheFleet(1, { hubValues: { transport: 'work' }, spokeNodes: { runtime: 'containerd-2' } });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  test('the kubelet collects everything else, what is pinned stays and starts with the link cut, and goes after the upgrade', async (context) => {
    if (obstacle) return context.skip(obstacle);
    const [spoke] = world.fleet.spokes;
    const cluster = world.fleet.clusters.get(SPOKE);
    if (!spoke || !cluster) throw new Error('no spoke');
    const [plain, pinned] = await Promise.all([
      world.pushRelease({ seed: seedOf(context, 51), components: 4, totalBytes: 8_000_000 }),
      world.pushRelease({ seed: seedOf(context, 52), components: 4, totalBytes: 8_000_000 }),
    ]);
    const [others, images] = [imagesOf(plain), imagesOf(pinned)];
    await using _plain = await precache('plain', plain);
    const upgrade = await precache('pinned', pinned, { [Annotation.pins]: 'runtime' });
    expect(await heldOf(cluster, [...others, ...images])).toHaveLength(others.length + images.length);

    await cluster.restartKubelet(COLLECTING);
    const begunAt = performance.now();
    await eventually(async () => (await heldOf(cluster, others)).length === 0, 'the kubelet to collect what is not pinned', 60_000);
    console.log(`collected ${others.length} images in ${((performance.now() - begunAt) / 1_000).toFixed(1)} s`);
    expect(await heldOf(cluster, images)).toEqual(images);
    await spoke.cutLink();
    try {
      const { up, failures } = await spoke.startImages(pinned.components, 120_000);
      expect({ up, failures }).toEqual({ up: pinned.components.length, failures: {} });
    } finally {
      await spoke.restoreLink();
    }

    // Deleted; its finalizer does not wait for the pins.
    await upgrade[Symbol.asyncDispose]();
    const pins = async () => (await cluster.images()).filter(({ name }) => name.startsWith('precache.invalid/'));
    await eventually(async () => (await pins()).length === 0, 'the pins to go', 120_000);
    expect(await heldOf(cluster, images)).toEqual(images);
    await eventually(
      async () => !(await spoke.kubectl(['get', 'namespaces', '-o', 'name'])).match(/openshift-talo-pre-cache|components-/),
      'the job and the started pods to go',
      120_000,
    );
    await cluster.restartKubelet(COLLECTING);
    await eventually(async () => (await heldOf(cluster, images)).length === 0, 'the kubelet to collect what was pinned', 60_000);
  });
});
