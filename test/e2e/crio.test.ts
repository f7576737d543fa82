import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { clusterObstacle, type Registry, type Served, startRegistry } from '@flotilla/control-plane/servers';
import { type HttpProxy, startHttpProxy } from '@flotilla/control-plane/simulators';
import { RegistryClient } from '@flotilla/registry';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUpgrade, type PrecacheFleet, seedOf, startPrecacheFleet } from '../fixtures/precache-fleet.ts';
import { PullerObserver } from '../fixtures/puller-observer.ts';
import { buildReleaseFixture, type FixtureImage, type ReleaseFixture } from '../support/release-fixture.ts';
import { followPrecaching } from '../support/upgrade-progress.ts';

const obstacle = clusterObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

const SPOKE = 'spoke-1';
/** Known to the node alone: a mirror in its registries.conf, with an authority in its certs.d. */
const MIRRORED = 'mirrored.flotilla.test';
/** Known to the proxy alone, with an authority in the node's trust bundle. */
const PROXIED = 'proxied.flotilla.test';
let world: PrecacheFleet;
let mirrored: Registry;
let proxied: Registry;
let proxy: HttpProxy;
/** Serves the same store as the two registries above, to this side. */
let pushed: Registry;
/** Folder of that store. */
let store: string;
/** Layers that the node has by now: releases share some. */
const held = new Set<string>();
const stack = new AsyncDisposableStack();

const spoke = () => world.fleet.spokes[0] ?? expect.fail('no spoke');
const cluster = () => world.fleet.clusters.get(SPOKE) ?? expect.fail('no cluster');
const imagesOf = (release: ReleaseFixture): FixtureImage[] => [release.release, ...release.components];
const layersOf = (images: readonly FixtureImage[]) =>
  new Map(images.flatMap(({ layers }) => layers.map(({ digest, size }) => [digest, size])));
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
/** Bytes that the node has to fetch for these images. */
const missingBytes = (images: readonly FixtureImage[]): number =>
  sum([...layersOf(images)].flatMap(([digest, size]) => (held.has(digest) ? [] : [size])));
const servedBytes = ({ byDigest }: Served, images: readonly FixtureImage[]): number =>
  sum([...layersOf(images).keys()].map((digest) => byDigest.get(digest) ?? 0));

/** A release whose images have that registry's name. */
async function pushAs(registryName: string, seed: number): Promise<ReleaseFixture> {
  const pushHost = `127.0.0.1:${pushed.port}`;
  await using client = new RegistryClient({ insecureHosts: [pushHost] });
  return await buildReleaseFixture({ client, pushHost, registryName, seed, components: 4, totalBytes: 8_000_000 });
}

/** Pre-caches a release by the hub, and returns the state it ends with. */
async function precache(name: string, platformImage: string, meanwhile?: () => Promise<void>): Promise<string | undefined> {
  await using _upgrade = await createUpgrade(world, name, platformImage, [SPOKE]);
  const signal = new AbortController().signal;
  const options = { spokes: [SPOKE], withinMs: 180_000, signal };
  const [[end]] = await Promise.all([followPrecaching(world.fleet.hub.client, { namespace: 'default', name }, options), meanwhile?.()]);
  return end?.state;
}

/** The store of CRI-O has each image under the digest by which it is wanted. */
async function expectStored(images: readonly FixtureImage[]): Promise<void> {
  const stored = new Map((await cluster().images()).map((image) => [image.name, image.digest]));
  const wanted = Object.fromEntries(images.map(({ pullSpec, digest }) => [pullSpec, digest]));
  expect(Object.fromEntries(images.map(({ pullSpec }) => [pullSpec, stored.get(pullSpec)]))).toEqual(wanted);
  for (const digest of layersOf(images).keys()) held.add(digest);
}

/** With the link cut, every image starts. */
async function expectStartedOffline(images: readonly FixtureImage[]): Promise<void> {
  await spoke().cutLink();
  try {
    const { up, failures } = await spoke().startImages(images, 90_000);
    expect({ up, failures }).toEqual({ up: images.length, failures: {} });
  } finally {
    await spoke().restoreLink();
  }
}

/** Registries of one store: this side pushes to one, and the node reaches the other through a proxy alone. */
async function startRegistries(): Promise<void> {
  store = await mkdtemp(join(tmpdir(), 'crio-registries-'));
  stack.defer(() => rm(store, { recursive: true, force: true }));
  const dir = store;
  pushed = stack.use(await startRegistry({ dir }));
  // On this machine's loopback: no node reaches it.
  proxied = stack.use(await startRegistry({ dir, tlsAddresses: [PROXIED] }));
  proxy = stack.use(await startHttpProxy({ host: '0.0.0.0', targets: { [`${PROXIED}:443`]: `127.0.0.1:${proxied.port}` } }));
}

/** A registry on the node's side of the link, where the node's configuration says, and what the hub has to know of the node. */
async function configureNode(): Promise<void> {
  const gateway = cluster().gatewayAddress;
  mirrored = stack.use(await startRegistry({ dir: store, host: '0.0.0.0', tlsAddresses: [gateway] }));
  const certificateAuthority = mirrored.certificateAuthority ?? '';
  await cluster().addRegistry({ host: MIRRORED, endpoint: `https://${gateway}:${mirrored.port}`, certificateAuthority });
  const annotations = {
    'flotilla.io/registries-conf-dir': '/etc/containers',
    'flotilla.io/ca-bundle-path': '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
    'flotilla.io/runtime-storage': '/var/lib/containers',
    'flotilla.io/https-proxy': `http://${gateway}:${proxy.port}`,
    'flotilla.io/no-proxy': '10.0.0.0/8',
  };
  const words = Object.entries(annotations).map(([name, value]) => `${name}=${value}`);
  await world.fleet.hub.kubectl(['annotate', 'managedcluster', SPOKE, ...words]);
}

describe.skipIf(obstacle !== undefined)('pre-caching on a node with CRI-O', () => {
  beforeAll(async () => {
    const start = performance.now();
    await startRegistries();
    world = stack.use(
      await startPrecacheFleet(1, {
        hubValues: { precacheRegistryConfig: '' },
        spokeNodes: {
          runtime: 'crio',
          trustedAuthorities: [proxied.certificateAuthority ?? ''],
          proxy: { url: (gateway) => `http://${gateway}:${proxy.port}`, noProxy: ['10.0.0.0/8'] },
        },
      }),
    );
    await configureNode();
    console.log(`fleet with hub and agent up after ${((performance.now() - start) / 1000).toFixed(1)} s`);
  });
  afterAll(() => stack.disposeAsync());

  test('puts every image of a release into CRI-O’s store, and all of it starts with the link cut', async (context) => {
    const release = await world.pushRelease({ seed: seedOf(context, 41), totalBytes: 24_000_000, components: 6 });
    await spoke().setRate('64mbit');
    await using puller = new PullerObserver(spoke().client);
    expect(await precache('whole', release.release.pullSpec)).toBe('Succeeded');
    expect(puller.runs.map(({ exitCode }) => exitCode)).toEqual([0]);
    await expectStored(imagesOf(release));
    await expectStartedOffline(release.components);
  });

  test('goes on when the runtime is restarted in mid-pull', async (context) => {
    const release = await world.pushRelease({ seed: seedOf(context, 42), totalBytes: 24_000_000, components: 8 });
    await spoke().setRate('12mbit');
    await using puller = new PullerObserver(spoke().client);
    const restarts: number[] = [];
    const state = await precache('restarted', release.release.pullSpec, async () => {
      restarts.push(await puller.reach(0.3 * release.releaseBytes, 0));
      const socket = await stat(cluster().runtimeSocket);
      await cluster().restartRuntime(() => delay(2_000));
      expect((await stat(cluster().runtimeSocket)).ino).not.toBe(socket.ino);
    });
    console.log(
      `runtime away for 2 s at ${restarts.map((bytes) => (bytes / 1e6).toFixed(1)).join(', ')} of ${(release.releaseBytes / 1e6).toFixed(1)} MB`,
    );
    expect(state).toBe('Succeeded');
    expect(puller.runs.map(({ exitCode }) => exitCode)).toEqual([0]);
    await expectStored(imagesOf(release));
  });

  test('finds a registry where the node’s registries.conf says, with the authority of the node’s certs.d', async (context) => {
    const release = await pushAs(MIRRORED, seedOf(context, 43));
    const missing = missingBytes(imagesOf(release));
    await spoke().setRate(undefined);
    expect(await precache('mirrored', release.release.pullSpec)).toBe('Succeeded');
    await expectStored(imagesOf(release));
    expect(missing).toBeGreaterThan(0);
    expect(servedBytes(await mirrored.served(), imagesOf(release))).toBeGreaterThanOrEqual(missing);
    await expectStartedOffline(release.components);
  });

  test('reaches a registry through the proxy, the only way there, as CRI-O does', async (context) => {
    const release = await pushAs(PROXIED, seedOf(context, 44));
    const missing = missingBytes(imagesOf(release));
    expect(await precache('proxied', release.release.pullSpec)).toBe('Succeeded');
    await expectStored(imagesOf(release));
    expect(missing).toBeGreaterThan(0);
    expect(proxy.bytesToClients()[`${PROXIED}:443`]).toBeGreaterThanOrEqual(missing);
    expect(servedBytes(await proxied.served(), imagesOf(release))).toBeGreaterThanOrEqual(missing);
    await expectStartedOffline(release.components);
  });
});
