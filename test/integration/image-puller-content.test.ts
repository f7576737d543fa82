import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { PullerExit } from '@flotilla/api/ran';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BlobTransfer, type CountingRegistry, startCountingRegistry } from './counting-registry.ts';
import {
  type PullerWorld,
  REGISTRY_NAME,
  startContainerd,
  startPuller,
  startPullerWorld,
  temporaryFolder,
} from './image-puller-fixture.ts';

/** The puller fetches blobs itself into the content store of a containerd, and the runtime finds them there. */

let world: PullerWorld;
beforeAll(async () => {
  world = await startPullerWorld('puller-content', [9_000_000, 12_000_000, 1_200_000, 300_000]);
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Components, one of them under two names; release, index, operator. */
const IMAGES = 4 + 3;
const fullSpec = (): Record<string, string> => ({
  'platform.image': world.release.release,
  'operators.indexes': world.release.index,
  'operators.packagesAndChannels': 'ptp:stable',
});
const sum = (sizes: Iterable<number>): number => [...sizes].reduce((total, size) => total + size, 0);
const neededBytes = (): number => sum(world.release.layers.values());
const servedBytes = (transfers: readonly BlobTransfer[]): number => sum(transfers.map(({ bytes }) => bytes));

const canRunContainerd = process.getuid?.() === 0 && ['/usr/bin/containerd', '/usr/local/bin/containerd'].some((path) => existsSync(path));
const VERSIONS = [
  { version: 'of Debian', snapshotter: 'native', program: async () => 'containerd' },
  { version: '2', snapshotter: 'overlayfs', program: async () => (await ensureTools(['containerd'])).path('containerd') },
];

/** A node: a containerd behind a registry that counts. */
async function startNode({ program, snapshotter }: { readonly program: string; readonly snapshotter: string }) {
  const stack = new AsyncDisposableStack();
  const registry: CountingRegistry = stack.use(await startCountingRegistry(world.registry.url));
  const dir = stack.use(await temporaryFolder('content'));
  const containerd = stack.use(await startContainerd(dir.path, registry.host, program));
  await eventually(() => existsSync(containerd.socket), 'the socket');
  const ctr = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)('ctr', ['-a', containerd.socket, '-n', 'k8s.io', ...args])).stdout;
  const env = {
    CRI_SOCKET: containerd.socket,
    REGISTRY_CONFIG: JSON.stringify([{ source: REGISTRY_NAME, mirrors: [registry.host], insecure: true }]),
  };
  const start = (more: Readonly<Record<string, string>> = {}, spec = fullSpec()) =>
    startPuller(world.folder.path, spec, { ...env, ...more });
  const run = async (more?: Readonly<Record<string, string>>, spec?: Record<string, string>) => (await start(more, spec)).finished;
  return { registry, ctr, start, run, snapshotter, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
type Node = Awaited<ReturnType<typeof startNode>>;

/** Every image is there under every name, whole and unpacked, and no lease of ours is left. */
async function expectPulled(node: Node): Promise<void> {
  const ready = (await node.ctr('images', 'check', '--quiet', '--snapshotter', node.snapshotter)).split('\n');
  const names = [world.release.release, world.release.index, world.release.operator, ...Object.values(world.release.components)];
  expect(ready).toEqual(expect.arrayContaining(names));
  expect(await node.ctr('leases', 'ls')).not.toContain('flotilla');
}

describe.skipIf(!canRunContainerd).each(VERSIONS)('with containerd $version', ({ program, snapshotter }) => {
  const options = { program: '', snapshotter };
  beforeAll(async () => {
    options.program = await program();
  }, 600_000);

  test('the link is paid once: the runtime asks for no blob, and what the list read is not read again', { timeout: 120_000 }, async () => {
    await using node = await startNode(options);
    const first = await node.run();
    expect(first.exitCode, first.log).toBe(PullerExit.done);
    expect(first.last).toMatchObject({ fetchedBy: 'puller', imagesByRuntime: 0, imagesDone: IMAGES, bytesForList: 0, failures: [] });
    await expectPulled(node);
    const served = servedBytes(node.registry.transfers);
    console.log(`served ${served} for ${neededBytes()}: ${(served / neededBytes()).toFixed(4)}`);
    expect(served).toBeLessThanOrEqual(1.02 * neededBytes());
    expect(node.registry.transfers.filter(({ by }) => by === 'runtime')).toEqual([]);
    expect(node.registry.runtimeRequests.filter((request) => !request.startsWith('HEAD '))).toEqual([]);

    const before = node.registry.transfers.length;
    const second = await node.run();
    expect(second.exitCode, second.log).toBe(PullerExit.done);
    expect(node.registry.transfers.slice(before)).toEqual([]);
  });
});
