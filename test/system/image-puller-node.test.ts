import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PullerExit } from '@flotilla/api/ran';
import { type Registry, startRegistry } from '@flotilla/control-plane/servers';
import { startHttpFront, startHttpProxy, startRelay } from '@flotilla/control-plane/simulators';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  hostOf,
  type PullerWorld,
  REGISTRY_NAME,
  startContainerd,
  startPuller,
  startPullerWorld,
  temporaryFolder,
} from './image-puller-fixture.ts';

/** What a node has around the puller: mirrors and authorities of its own, a proxy, a runtime that is restarted, a registry in trouble. */

let world: PullerWorld;
/** The same store over TLS, whose authority nobody knows. */
let secure: Registry;

beforeAll(async () => {
  world = await startPullerWorld('puller-node', [3_000_000, 2_000_000, 400_000]);
  secure = await startRegistry({ dir: world.store, tlsAddresses: [], log: () => undefined });
});
afterAll(async () => {
  await secure?.stop();
  await world?.[Symbol.asyncDispose]();
});

/** Release, its components (one of them under two names). */
const IMAGES = 3 + 1;
const spec = (): Record<string, string> => ({ 'platform.image': world.release.release });

async function put(root: string, path: string, text: string): Promise<string> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}
const mirrorRule = (location: string): string =>
  `[[registry]]\nlocation = "${REGISTRY_NAME}"\nblocked = true\n[[registry.mirror]]\nlocation = "${location}"\npull-from-mirror = "digest-only"\n`;

async function run(env: Readonly<Record<string, string>>) {
  await using layout = await temporaryFolder('layout');
  const { finished } = await startPuller(world.folder.path, spec(), {
    STORE: 'layout',
    LAYOUT_DIR: layout.path,
    RETRY_FOR_SECONDS: '2',
    ...env,
  });
  // awaited here: the folder goes with this scope
  return await finished;
}

test("the node's own mirror with an authority of its own; without it the mirror is not trusted", async () => {
  await using etc = await temporaryFolder('etc');
  const host = hostOf(secure.url);
  await put(etc.path, 'registries.conf', 'short-name-mode = "enforcing"\n');
  await put(etc.path, 'registries.conf.d/mirrors.conf', mirrorRule(host));
  const env = { REGISTRIES_CONF_DIR: etc.path };
  const untrusted = await run(env);
  expect(untrusted.exitCode, untrusted.log).toBe(PullerExit.registryRefused);
  expect(untrusted.last.message).toContain('certificate not trusted');
  await put(etc.path, `certs.d/${host}/ca.crt`, secure.certificateAuthority ?? '');
  const trusted = await run(env);
  expect(trusted.exitCode, trusted.log).toBe(PullerExit.done);
  expect(trusted.last).toMatchObject({ imagesDone: IMAGES, imagesTotal: IMAGES });
  expect(trusted.last.bytesForList).toBeGreaterThan(0);
});

test('a registry that only a proxy reaches, whose password is in no log', async () => {
  await using etc = await temporaryFolder('etc');
  // the certificate has this name, and nobody resolves it
  await put(etc.path, 'registries.conf', mirrorRule('kubernetes.default.svc:5000'));
  const bundle = await put(etc.path, 'bundle.pem', secure.certificateAuthority ?? '');
  const authority = 'kubernetes.default.svc:5000';
  await using proxy = await startHttpProxy({ targets: { [authority]: `127.0.0.1:${secure.port}` } });
  const env = { REGISTRIES_CONF_DIR: etc.path, REGISTRY_CA: `/nonexistent.pem:${bundle}`, NO_PROXY: '.cluster.local,10.0.0.0/8' };
  const done = await run({ ...env, HTTPS_PROXY: `http://user:pa55word@127.0.0.1:${proxy.port}` });
  expect(done.exitCode, done.log).toBe(PullerExit.done);
  expect(proxy.credentials(authority)).toEqual([`Basic ${Buffer.from('user:pa55word').toString('base64')}`]);
  expect(done.log + JSON.stringify(done.reports)).not.toContain('pa55word');
  const alone = await run(env);
  expect(alone.exitCode, alone.log).toBe(PullerExit.registryRefused);
});

test('15 s of 502 for one image cost no image', async () => {
  const repository = 'release/component-1';
  let failingSince: number | undefined;
  let refused = 0;
  await using front = await startHttpFront(world.registry.url, {
    answers(request, response) {
      if (!request.url?.includes(`/${repository}/`)) return false;
      failingSince ??= performance.now();
      if (performance.now() - failingSince >= 15_000) return false;
      refused++;
      response.writeHead(502).end('<html>Bad Gateway</html>');
      return true;
    },
  });
  const REGISTRY_CONFIG = JSON.stringify([{ source: REGISTRY_NAME, mirrors: [front.at], insecure: true }]);
  const done = await run({ REGISTRY_CONFIG, RETRY_FOR_SECONDS: '60' });
  expect(done.exitCode, done.log).toBe(PullerExit.done);
  expect(done.last.imagesDone).toBe(IMAGES);
  expect(refused).toBeGreaterThan(1);
});

const canRunContainerd = process.getuid?.() === 0 && ['/usr/bin/containerd', '/usr/local/bin/containerd'].some((path) => existsSync(path));

describe.skipIf(!canRunContainerd)('through the CRI of a real containerd', () => {
  const mirrorTo = (host: string) => ({ REGISTRY_CONFIG: JSON.stringify([{ source: REGISTRY_NAME, mirrors: [host], insecure: true }]) });

  test('a runtime that is restarted in mid-pull costs no image', async () => {
    await using dir = await temporaryFolder('containerd');
    await using slow = await startRelay(world.registry.url, { faults: { bytesPerSecond: 1_500_000 } });
    const first = await startContainerd(dir.path, slow.at);
    await expect.poll(() => existsSync(first.socket), { timeout: 20_000 }).toBe(true);
    // the first candidate is not there, the second is made anew by the restart
    const env = { STORE: 'cri', CRI_SOCKET: `/nonexistent/crio.sock,${first.socket}`, MAX_PARALLEL_PULLS: '2', ...mirrorTo(slow.at) };
    const running = await startPuller(world.folder.path, spec(), env);
    await expect.poll(() => running.reports.at(-1)?.phase, { timeout: 60_000, interval: 50 }).toBe('pulling');
    await first[Symbol.asyncDispose]();
    expect(running.child.exitCode).toBe(null);
    await using _second = await startContainerd(dir.path, slow.at);
    const ended = await running.finished;
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
    expect(ended.log).toContain('does not answer');
    expect(ended.last).toMatchObject({ imagesDone: IMAGES, failures: [] });
  });

  test('an image that the puller cannot find is pulled by the runtime, which can', async () => {
    await using dir = await temporaryFolder('containerd');
    await using containerd = await startContainerd(dir.path, hostOf(world.registry.url));
    await expect.poll(() => existsSync(containerd.socket), { timeout: 20_000 }).toBe(true);
    const images = [world.release.operator, `${REGISTRY_NAME}/operators/gone@sha256:${'0'.repeat(64)}`];
    // no mirror is given here: the name means nothing to the puller
    const env = { STORE: 'cri', CRI_SOCKET: containerd.socket, RETRY_FOR_SECONDS: '2' };
    const { finished } = await startPuller(world.folder.path, { additionalImages: images.join('\n') }, env);
    const ended = await finished;
    expect(ended.exitCode, ended.log).toBe(PullerExit.partlyDone);
    expect(ended.last).toMatchObject({ imagesDone: 1, imagesTotal: 2, imagesUnsized: 2 });
    expect(ended.last.failures).toEqual([{ image: images[1], error: expect.stringContaining('not found here either') }]);
  });
});
