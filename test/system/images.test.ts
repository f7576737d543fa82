import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, runCommand } from '@flotilla/control-plane/processes';
import { type Registry, startRegistry } from '@flotilla/control-plane/servers';
import { currentPlatform, type Platform, parseImageReference, RegistryClient, type ResolvedImage, resolveImage } from '@flotilla/registry';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AppName, appNames } from '../../tools/src/images/apps.ts';
import { type BuiltImages, buildImages } from '../../tools/src/images/build-images.ts';
import { debianPackages } from '../../tools/src/images/debian-packages.ts';
import { lockedPackages } from '../../tools/src/images/locked-packages.ts';
import { pushImages } from '../../tools/src/images/push-images.ts';

const canBuild = (await findProgram('apt-get')) !== undefined && (await findProgram('dpkg-deb')) !== undefined;
const canChroot = process.platform === 'linux' && process.getuid?.() === 0;
/** Of Debian's package qemu-user-static, which is no part of the set-up: it has 60 MB. */
const emulator = await findProgram('qemu-aarch64-static');
const canEmulate = canChroot && emulator !== undefined;

let scratch: string;
let built: BuiltImages;
let registry: Registry;
let client: RegistryClient;
let pushHost: string;

const build = (folder: string) =>
  buildImages({ output: join(scratch, folder), superseded: 'newest', log: (message) => void process.stderr.write(`${message}\n`) });
const resolve = (app: AppName, platform: Platform = currentPlatform()): Promise<ResolvedImage> =>
  resolveImage(client, parseImageReference(`${pushHost}/flotilla/${app}:test`), { platform });

describe.skipIf(!canBuild)('images of the programs', () => {
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'flotilla-images-'));
    registry = await startRegistry();
    pushHost = new URL(registry.url).host;
    client = new RegistryClient({ insecureHosts: [pushHost] });
    const started = performance.now();
    built = await build('first');
    console.log(`built ${appNames.length} images for 2 architectures in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }, 900_000);

  afterAll(async () => {
    await client?.close();
    await registry?.stop();
    if (scratch) await rm(scratch, { recursive: true, force: true });
  });

  test('have the same digests when built again', async () => {
    const started = performance.now();
    const again = await build('second');
    console.log(`built again from the cache in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    for (const app of appNames) {
      const { name, digest, descriptor, platforms } = again.images[app] ?? {};
      expect(built.images[app]).toMatchObject({ name, digest, descriptor, platforms });
    }
  });

  test('go to a registry with their common layer sent once, and nothing is sent twice', async () => {
    const target = { client, prefix: `${pushHost}/flotilla`, tag: 'test' };
    const sent = (await pushImages(built, target)).reduce((sum, image) => sum + image.bytes, 0);
    const layers = new Map<string, number>();
    for (const app of appNames)
      for (const architecture of ['amd64', 'arm64'])
        for (const { digest, size } of (await resolve(app, { os: 'linux', architecture })).layers) layers.set(digest, size);
    // A base and a queue server for each architecture, and one layer for each program; the rest of what was sent are configurations.
    expect(layers.size).toBe(4 + appNames.length);
    const layerBytes = [...layers.values()].reduce((sum, size) => sum + size, 0);
    expect(sent).toBeGreaterThanOrEqual(layerBytes);
    expect(sent - layerBytes).toBeLessThan(20_000);
    expect((await pushImages(built, target)).map((image) => image.bytes)).toEqual(appNames.map(() => 0));
  });

  test.each([
    { app: 'hub', user: '65532:65532', flags: ['--max-semi-space-size=4'] },
    { app: 'spoke-agent', user: '65532:65532', flags: [] },
    { app: 'upgrade-operator', user: '65532:65532', flags: ['--max-semi-space-size=1', '--optimize-for-size'] },
    { app: 'version-operator', user: '65532:65532', flags: ['--max-semi-space-size=4', '--max-old-space-size=384'] },
    { app: 'console', user: '65532:65532', flags: [] },
    { app: 'image-puller', user: '0:0', flags: [] },
  ] as const)('$app runs its bundle as user $user', async ({ app, user, flags }) => {
    const { config } = await resolve(app);
    expect(config.config).toMatchObject({ User: user, Entrypoint: ['/usr/local/bin/node', ...flags, '/app/main.mjs'] });
  });

  test('hold files of root with no times, and no path of this machine', async () => {
    for (const { digest } of (await resolve('spoke-agent')).layers) {
      const listing = await runCommand('tar', [
        '--list',
        '--verbose',
        '--numeric-owner',
        '--utc',
        '--full-time',
        '--file',
        built.layout.blobPath(digest),
      ]);
      const lines = listing.trim().split('\n');
      expect(lines.filter((line) => !/ 0\/0 +\d+ 1970-01-01 00:00:00 /.test(line))).toEqual([]);
    }
    const root = await unpack('spoke-agent', currentPlatform());
    expect(await readFile(join(root, 'app/main.mjs'), 'utf8')).not.toContain(process.cwd());
  });

  test('say what they are made of: npm packages, Node and Debian packages with hashes', async () => {
    const bom = JSON.parse(await readFile(built.images['image-puller']?.boms.amd64 ?? '', 'utf8'));
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', metadata: { component: { name: 'image-puller' } } });
    const named = new Map<string, { version: string; hashes?: { content: string }[] }>(
      bom.components.map((one: { name: string }) => [one.name, one]),
    );
    for (const name of ['zod', 'undici', 'libc6']) expect(named.get(name)?.hashes?.[0]?.content).toMatch(/^[0-9a-f]{64,128}$/);
    expect(named.get('node')?.version).toBe(process.versions.node);
    // What only the hub uses is not in the puller's.
    expect(['bullmq', 'redis-tools'].filter((name) => named.has(name))).toEqual([]);
  });

  test('show their packages to scanners: the bill of the bundle, and dpkg records under the name of their distribution', async () => {
    const root = await unpack('hub', currentPlatform());
    expect(await readFile(join(root, 'etc/os-release'), 'utf8')).toMatch(/^ID=debian\nVERSION_ID="12"$/m);
    expect(await readFile(join(root, 'var/lib/dpkg/status.d/libc6'), 'utf8')).toMatch(
      /^Package: libc6\n[\s\S]*^Version: 2\.36-[\s\S]*^Status: install ok installed$/m,
    );
    const bill = JSON.parse(await readFile(join(root, 'app/bom.cdx.json'), 'utf8'));
    expect(bill.components.map(({ name }: { name: string }) => name)).toContain('bullmq');
    expect(await readFile(join(root, 'var/lib/dpkg/status.d/redis-tools'), 'utf8')).toMatch(/^Package: redis-tools\n/);
  });

  test('take no package whose bytes are not those of the committed list', async () => {
    const [first] = await lockedPackages('base', 'amd64');
    const locked = [{ ...first, name: first?.name ?? '', version: first?.version ?? '', sha256: '0'.repeat(64) }];
    const folder = join(scratch, 'wrong-bytes');
    const attempt = debianPackages({ folder, set: 'base', architecture: 'amd64', locked, superseded: 'newest', log: () => undefined });
    await expect(attempt).rejects.toThrow(/has SHA-256 \w{64} instead of 0{64}/);
  });

  test('carry a Node for their own processor', async () => {
    const machines = { amd64: 62, arm64: 183 };
    for (const [architecture, machine] of Object.entries(machines)) {
      const node = await readFile(join(await unpack('spoke-agent', { os: 'linux', architecture }), 'usr/local/bin/node'));
      expect(node.readUInt16LE(18)).toBe(machine);
    }
  });

  test('start on arm64, by an emulator', async ({ skip }) => {
    if (!canEmulate) return skip('no qemu-aarch64-static on PATH, or not root; the Node of their images is read');
    for (const app of appNames) {
      const root = await unpack(app, { os: 'linux', architecture: 'arm64' });
      await copyFile(emulator ?? '', join(root, 'emulator'));
      const { config } = await resolve(app, { os: 'linux', architecture: 'arm64' });
      const args = [...(config.config?.Entrypoint ?? []), '--version'];
      const said = await runCommand('chroot', [root, '/emulator', ...args], { timeoutMs: 120_000 });
      // The console's program is the command line.
      expect(said).toMatch(new RegExp(`^${app === 'console' ? 'flotilla' : app} \\S+ \\(commit `));
    }
  });

  // Another file system root needs root; the end-to-end tests run the same images as pods.
  describe.skipIf(!canChroot)('in a root of their own', () => {
    const run = async (app: AppName, user: string, args: readonly string[] = []) =>
      runCommand('chroot', [`--userspec=${user}`, await unpack(app, currentPlatform()), '/usr/local/bin/node', '/app/main.mjs', ...args]);

    test('the programs that stay say how they are used', async () => {
      expect(await run('hub', '65532:65532', ['--help'])).toContain('--update-graph-url');
      expect(await run('spoke-agent', '65532:65532', ['--help'])).toContain('--hub-kubeconfig');
      expect(await run('upgrade-operator', '65532:65532', ['--help'])).toContain('--custom-metrics-bind-address');
      expect(await run('version-operator', '65532:65532', ['--help'])).toContain('--cache-folder');
      expect(await run('console', '65532:65532', ['console', '--help'])).toContain('--login');
    });

    test('the hub has a queue server that runs as its user', async () => {
      const root = await unpack('hub', currentPlatform());
      expect(await runCommand('chroot', ['--userspec=65532:65532', root, '/usr/bin/redis-server', '--version'])).toContain(
        'Redis server v=7',
      );
    });

    test('the puller says that it has no spec, by its exit code', async () => {
      await expect(run('image-puller', '0:0')).rejects.toThrow(/ended with 10/);
    });
  });
});

/** Unpacks an image into a folder, once. */
async function unpack(app: AppName, platform: Platform): Promise<string> {
  const root = join(scratch, `${app}-${platform.architecture}`);
  if (await mkdir(root, { recursive: true })) {
    for (const { digest } of (await resolve(app, platform)).layers) {
      await runCommand('tar', ['--extract', '--file', built.layout.blobPath(digest), '--directory', root]);
    }
  }
  return root;
}
