import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Annotation } from '@flotilla/api';
import { Job, Namespace } from '@flotilla/api/core';
import { PullerExit, PullerReport, SpokeName } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import { startRelay } from '@flotilla/control-plane/simulators';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { precachePod } from '../fixtures/precache-pod.ts';
import {
  hostOf,
  type PullerWorld,
  pushSmallRelease,
  REGISTRY_NAME,
  fullSpec as specOf,
  startContainerd,
  startPuller,
  startPullerWorld,
  temporaryFolder,
} from './image-puller-fixture.ts';

let world: PullerWorld;

beforeAll(async () => {
  world = await startPullerWorld('puller', [400_000, 800_000, 1_200_000, 300_000, 600_000]);
});
afterAll(() => world?.[Symbol.asyncDispose]());

const mirrorTo = (host: string): Record<string, string> => ({
  REGISTRY_CONFIG: JSON.stringify([{ source: REGISTRY_NAME, mirrors: [host], insecure: true }]),
});
const layoutEnv = (dir: string): Record<string, string> => ({ STORE: 'layout', LAYOUT_DIR: dir, ...mirrorTo(hostOf(world.registry.url)) });
const fullSpec = (): Record<string, string> => ({
  ...specOf(world),
  excludePrecachePatterns: '',
  additionalImages: '',
  spaceRequired: '1',
});
const freshLayout = async () => await temporaryFolder('layout');
const run = async (spec: Record<string, string>, env: Record<string, string>) => (await startPuller(world.folder.path, spec, env)).finished;
const blobPath = (dir: string, digest: string): string => join(dir, 'blobs', 'sha256', digest.slice('sha256:'.length));
const allBytes = (): number => [...world.release.layers.values()].reduce((sum, size) => sum + size, 0);
/** Component images, one of them under two names; release, index and operator. */
const IMAGES = 5 + 3;

describe('into an OCI layout', () => {
  test('pulls every image of release and operators, and a second run pulls nothing', async () => {
    await using layout = await freshLayout();
    const first = await run(fullSpec(), layoutEnv(layout.path));
    expect(first.exitCode, first.log).toBe(PullerExit.done);
    expect(first.last).toMatchObject({
      phase: 'done',
      imagesDone: IMAGES,
      imagesTotal: IMAGES,
      bytesDone: allBytes(),
      bytesTotal: allBytes(),
      failures: [],
    });
    expect(first.termination).toEqual(first.last);
    for (const [digest, size] of world.release.layers) expect((await stat(blobPath(layout.path, digest))).size).toBe(size);
    const names = JSON.parse(await readFile(join(layout.path, 'index.json'), 'utf8')).manifests.map(
      (entry: { annotations: Record<string, string> }) => entry.annotations['org.opencontainers.image.ref.name'],
    );
    expect(names.toSorted()).toEqual(
      [world.release.release, world.release.index, world.release.operator, ...Object.values(world.release.components)].toSorted(),
    );

    const since = (await world.registry.served()).requests.length;
    const second = await run(fullSpec(), layoutEnv(layout.path));
    expect(second.exitCode).toBe(PullerExit.done);
    expect(second.last).toMatchObject({ imagesDone: IMAGES, bytesDone: allBytes() });
    const { byDigest, requests } = await world.registry.served({ since });
    const blobBytes = requests.filter(({ method, uri }) => method === 'GET' && uri.includes('/blobs/')).map(({ bytes }) => bytes);
    expect(second.last.bytesForList).toBeGreaterThan(0);
    expect(second.last.bytesForList).toBe(blobBytes.reduce((sum, bytes) => sum + bytes, 0));
    expect(first.last.bytesForList).toBe(second.last.bytesForList);
    // the layers of release and index image are read for their lists, nothing else is
    expect([...byDigest.keys()].filter((digest) => (world.release.layers.get(digest) ?? 0) >= 50_000 && digest !== baseLayer())).toEqual(
      [],
    );
  });

  test('leaves out what a pattern names, and takes the last additional image without a final newline', async () => {
    await using layout = await freshLayout();
    const spec = {
      'platform.image': world.release.release,
      excludePrecachePatterns: '\ncomponent-[0-9]\ncomponent-alias\n',
      additionalImages: `\n${world.release.operator} \n${world.release.index}`,
    };
    const { exitCode, last, log } = await run(spec, layoutEnv(layout.path));
    expect(exitCode, log).toBe(PullerExit.done);
    expect(last).toMatchObject({ imagesDone: 3, imagesTotal: 3 });
  });

  test('goes on after SIGTERM and SIGKILL: what is pulled stays, and the rest alone is pulled', async () => {
    await using layout = await freshLayout();
    // Less than all comes through: however late the signal is, it meets a puller that pulls.
    for (const [signal, exitCode, share, most] of [
      ['SIGTERM', PullerExit.interrupted, 0.5, 0.8],
      ['SIGKILL', null, 0.75, 0.45],
    ] as const) {
      await using slow = await startRelay(world.registry.url, { faults: { bytesPerSecond: 700_000, mostBytes: most * allBytes() } });
      const env = { ...layoutEnv(layout.path), ...mirrorTo(slow.at), MAX_PARALLEL_PULLS: '2' };
      const running = await startPuller(world.folder.path, fullSpec(), env);
      await expect
        .poll(() => (running.reports.at(-1)?.bytesDone ?? 0) / allBytes(), { timeout: 120_000, interval: 100 })
        .toBeGreaterThan(share);
      const stopped = performance.now();
      running.child.kill(signal);
      const ended = await running.finished;
      expect(ended.exitCode, ended.log).toBe(exitCode);
      expect(performance.now() - stopped).toBeLessThan(5_000);
      if (signal === 'SIGTERM')
        expect(ended.termination).toMatchObject({ phase: 'failed', message: expect.stringContaining('interrupted') });
    }
    const held = [...world.release.layers.keys()].filter((digest) => existsSync(blobPath(layout.path, digest)));
    expect(held.length).toBeGreaterThan(0);
    const since = (await world.registry.served()).requests.length;
    const last = await run(fullSpec(), layoutEnv(layout.path));
    expect(last.exitCode, last.log).toBe(PullerExit.done);
    expect(last.last.imagesDone).toBe(IMAGES);
    const { byDigest } = await world.registry.served({ since });
    const listed = (digest: string): boolean => digest === baseLayer() || (world.release.layers.get(digest) ?? 0) < 50_000;
    expect(held.filter((digest) => byDigest.has(digest) && !listed(digest))).toEqual([]);
  });

  test('an image that only the mirror can deny is not waited for while the registry answers for others', async () => {
    await using layout = await freshLayout();
    const started = performance.now();
    const result = await run({ additionalImages: `${world.release.operator}\n${REGISTRY_NAME}/operators/gone:v1` }, layoutEnv(layout.path));
    expect(result.exitCode, result.log).toBe(PullerExit.partlyDone);
    expect(performance.now() - started).toBeLessThan(60_000);
  });

  test('goes through cut connections', async () => {
    await using layout = await freshLayout();
    await using proxy = await startRelay(world.registry.url, { seed: 7, faults: { cutAfterBytes: [50_000, 900_000], cuts: 12 } });
    const { exitCode, log } = await run(fullSpec(), { ...layoutEnv(layout.path), ...mirrorTo(hostOf(proxy.url)) });
    expect(exitCode, log).toBe(PullerExit.done);
    expect(proxy.counts().cut).toBeGreaterThan(5);
  });

  // From here to the end of these, beside one another: most of their time is waiting for what is not there.
  test.concurrent.each<[string, Record<string, string>, number, RegExp]>([
    ['an empty spec', { 'platform.image': '\n' }, PullerExit.badSpec, /platform\.image is empty/],
    ['an image that is no release', { 'platform.image': 'OPERATOR' }, PullerExit.badSpec, /has no file release-manifests/],
    [
      'an unknown package',
      { 'operators.indexes': 'INDEX', 'operators.packagesAndChannels': 'sriov:stable' },
      PullerExit.badSpec,
      /the indexes have ptp/,
    ],
    [
      'a release image that is not there',
      { 'platform.image': `${REGISTRY_NAME}/release/gone:v1` },
      PullerExit.registryRefused,
      /release\/gone/,
    ],
    [
      'more space than there is',
      { 'platform.image': 'RELEASE', spaceRequired: '99999999' },
      PullerExit.noSpace,
      /not enough space for precaching/,
    ],
    [
      'one image of two that is not there',
      { additionalImages: `OPERATOR\n${REGISTRY_NAME}/operators/gone:v1` },
      PullerExit.partlyDone,
      /1 of 2 images could not be pulled; the first, \S+gone:v1: /,
    ],
    [
      'no image that is there',
      { additionalImages: `${REGISTRY_NAME}/operators/gone:v1` },
      PullerExit.registryRefused,
      /1 of 1 images could not be pulled; the first, \S+gone:v1: /,
    ],
  ])('%s has its exit code and says why', async (_, spec, exitCode, message) => {
    await using layout = await freshLayout();
    const named = Object.entries(spec).map(([key, value]) => [
      key,
      value.replace('RELEASE', world.release.release).replace('OPERATOR', world.release.operator).replace('INDEX', world.release.index),
    ]);
    // the source behind the mirror does not exist, which alone looks like a broken link
    const result = await run(Object.fromEntries(named), { ...layoutEnv(layout.path), RETRY_FOR_SECONDS: '3' });
    expect(result.exitCode, result.log).toBe(exitCode);
    expect(result.last).toMatchObject({ phase: 'failed', message: expect.stringMatching(message) });
    expect(result.termination).toEqual(result.last);
  });

  test.concurrent('no folder with a spec, and a bad variable, are a bad spec; no runtime is an internal error', async () => {
    await using layout = await freshLayout();
    expect((await run({}, { ...layoutEnv(layout.path), CONFIG_VOLUME_PATH: '/nonexistent' })).exitCode).toBe(PullerExit.badSpec);
    const noRuntime = await run(fullSpec(), {
      ...mirrorTo(hostOf(world.registry.url)),
      CRI_SOCKET: '/nonexistent.sock',
      RETRY_FOR_SECONDS: '1',
    });
    expect(noRuntime.exitCode).toBe(PullerExit.internal);
    expect(noRuntime.last.message).toContain('mount the runtime');
  });

  test.concurrent('progress is written to the Job, and a refused write does not fail the pull', async () => {
    await using server = await startApiServer({ users: [{ name: 'stranger' }], log: () => undefined });
    const client = await server.client();
    await client.create(Namespace, { metadata: { name: SpokeName.namespace } });
    const job = { namespace: SpokeName.namespace, name: SpokeName.job };
    await client.create(Job, { metadata: job, spec: { template: { spec: precachePod('registry.example/puller:1') } } });
    await using slow = await startRelay(world.registry.url, { faults: { bytesPerSecond: 2_000_000 } });
    const env = { ...mirrorTo(slow.at), STORE: 'layout', PROGRESS_ON_JOB: 'on' };
    await using layout = await freshLayout();
    const done = await run(fullSpec(), { ...env, LAYOUT_DIR: layout.path, KUBECONFIG: server.kubeconfig });
    expect(done.exitCode, done.log).toBe(PullerExit.done);
    const written = (await client.get(Job, job))?.metadata.annotations?.[Annotation.progress];
    expect(PullerReport.parse(JSON.parse(written ?? ''))).toMatchObject({ phase: 'done', imagesDone: IMAGES });

    const refused = await run(fullSpec(), { ...env, LAYOUT_DIR: layout.path, KUBECONFIG: await server.kubeconfigFor('stranger') });
    expect(refused.exitCode, refused.log).toBe(PullerExit.done);
    expect(refused.log).toContain('Writing progress failed');
  });
});

const canRunContainerd = process.getuid?.() === 0 && ['/usr/bin/containerd', '/usr/local/bin/containerd'].some((path) => existsSync(path));

describe.skipIf(!canRunContainerd)('through the CRI of a real containerd', () => {
  test('images are there under every name with the right digest, and a second run pulls nothing', async () => {
    await using dir = await temporaryFolder('containerd');
    await using containerd = await startContainerd(dir.path, hostOf(world.registry.url));
    await expect.poll(() => existsSync(containerd.socket), { timeout: 20_000 }).toBe(true);
    const env = { STORE: 'cri', CRI_SOCKET: containerd.socket, ...mirrorTo(hostOf(world.registry.url)) };
    const first = await run(fullSpec(), env);
    expect(first.exitCode, first.log).toBe(PullerExit.done);
    expect(first.last).toMatchObject({ imagesDone: IMAGES, bytesDone: allBytes() });

    const ctr = async (...args: string[]): Promise<string> => runCommand('ctr', ['-a', containerd.socket, '-n', 'k8s.io', ...args]);
    const held = new Map(
      (await ctr('images', 'ls'))
        .split('\n')
        .map((line) => line.split(/\s+/))
        .map(([name = '', , digest = '']) => [name, digest]),
    );
    for (const name of [world.release.release, world.release.operator, ...Object.values(world.release.components)])
      expect(held.get(name)).toBe(name.split('@')[1]);
    expect(held.has(world.release.index)).toBe(true);
    const content = await ctr('content', 'ls', '-q');
    for (const digest of world.release.layers.keys()) expect(content).toContain(digest);

    const since = (await world.registry.served()).requests.length;
    const second = await run(fullSpec(), env);
    expect(second.exitCode, second.log).toBe(PullerExit.done);
    expect(second.log).not.toContain('"msg":"Pulled"');
    const { byDigest } = await world.registry.served({ since });
    expect([...byDigest.keys()].filter((digest) => (world.release.layers.get(digest) ?? 0) >= 50_000 && digest !== baseLayer())).toEqual(
      [],
    );
  });

  test('SIGTERM in mid-pull ends it cleanly, and the next run pulls only the rest', async () => {
    // containerd counts what is on its way in by the mebibyte
    const large = await pushSmallRelease(world.registry.url, [6_000_000, 4_000_000, 500_000]);
    const spec = { 'platform.image': large.release };
    await using dir = await temporaryFolder('containerd');
    await using slow = await startRelay(world.registry.url, { faults: { bytesPerSecond: 1_000_000 } });
    await using containerd = await startContainerd(dir.path, slow.at);
    await expect.poll(() => existsSync(containerd.socket), { timeout: 20_000 }).toBe(true);
    const env = { STORE: 'cri', CRI_SOCKET: containerd.socket, MAX_PARALLEL_PULLS: '2', ...mirrorTo(slow.at) };
    const running = await startPuller(world.folder.path, spec, env);
    await expect.poll(() => running.reports.at(-1)?.imagesDone ?? 0, { timeout: 60_000, interval: 20 }).toBeGreaterThan(0);
    running.child.kill('SIGTERM');
    const ended = await running.finished;
    expect(ended.exitCode, ended.log).toBe(PullerExit.interrupted);
    const before = ended.last.imagesDone;
    const second = await run(spec, env);
    expect(second.exitCode, second.log).toBe(PullerExit.done);
    const pulling = ended.reports.filter(({ phase }) => phase === 'pulling');
    const growsWithinAnImage = pulling.some(
      (report, i) => report.imagesDone === pulling[i - 1]?.imagesDone && report.bytesDone > (pulling[i - 1]?.bytesDone ?? 0),
    );
    expect(growsWithinAnImage, JSON.stringify(pulling)).toBe(true);
    const pulled = second.log.split('\n').filter((line) => line.includes('"msg":"Pulled"')).length;
    // one image has two names
    expect(second.last.imagesTotal).toBe(4);
    expect(pulled).toBeLessThanOrEqual(4 + 1 - before);
  });
});

/** The layer that all images share. */
function baseLayer(): string {
  return [...world.release.layers.keys()][0] ?? '';
}
