import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { type CountingRegistry, startCountingRegistry } from './counting-registry.ts';
import { fullSpec, type PullerWorld, REGISTRY_NAME, startContainerd, startPuller, temporaryFolder } from './image-puller-fixture.ts';

/** True where a containerd of one's own can run. */
export const canRunContainerd =
  process.getuid?.() === 0 && ['/usr/bin/containerd', '/usr/local/bin/containerd'].some((path) => existsSync(path));
/** The versions of containerd that nodes have here, each with the snapshotter that works everywhere. */
export const VERSIONS = [
  { version: 'of Debian', snapshotter: 'native', knowsPins: false, program: async () => 'containerd' },
  { version: '2', snapshotter: 'overlayfs', knowsPins: true, program: async () => (await ensureTools(['containerd'])).path('containerd') },
];

/** A node: a containerd behind a registry that counts, and what the puller gets of it. */
export async function startNode(
  world: PullerWorld,
  {
    program,
    snapshotter,
    discard,
  }: {
    readonly program: string;
    readonly snapshotter: string;
    readonly discard?: boolean;
  },
) {
  const stack = new AsyncDisposableStack();
  const registry: CountingRegistry = stack.use(await startCountingRegistry(world.registry.url));
  const dir = stack.use(await temporaryFolder('content'));
  const containerd = stack.use(await startContainerd(dir.path, registry.at, { program, ...(discard && { discard }) }));
  await eventually(() => existsSync(containerd.socket), 'the socket');
  const ctr = async (...args: string[]): Promise<string> => runCommand('ctr', ['-a', containerd.socket, '-n', 'k8s.io', ...args]);
  const env = {
    CRI_SOCKET: containerd.socket,
    REGISTRY_CONFIG: JSON.stringify([{ source: REGISTRY_NAME, mirrors: [registry.at], insecure: true }]),
  };
  const start = (more: Readonly<Record<string, string>> = {}, spec = fullSpec(world)) =>
    startPuller(world.folder.path, spec, { ...env, ...more });
  const run = async (more?: Readonly<Record<string, string>>, spec?: Record<string, string>) => (await start(more, spec)).finished;
  const blobPath = (digest: string): string => join(dir.path, 'root/io.containerd.content.v1.content/blobs', digest.replace(':', '/'));
  return { registry, ctr, start, run, snapshotter, blobPath, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
/** A node with its containerd, as tests use it. */
export type PullerNode = Awaited<ReturnType<typeof startNode>>;
