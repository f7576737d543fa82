import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { InspectAnswer, LAYER_LIST_KEY, type LayerList, PullerReport } from '@flotilla/api/ran';
import { readEnvironment, startServerProcess } from '@flotilla/control-plane/processes';
import { type Registry, startRegistry } from '@flotilla/control-plane/servers';
import { currentPlatform, type Descriptor, parseImageReference, pushImage, RegistryClient } from '@flotilla/registry';
import { MemoryBlobs, writeImage, writeLayer } from '@flotilla/registry/testing';
import { buildReleaseHead } from '@flotilla/release/testing';
import { programFile } from '../support/program-files.ts';

/** The registry as pull specs name it; nodes reach it through a mirror. */
export const REGISTRY_NAME = 'registry.test';
const REFERENCES = 'release-manifests/image-references';

/** `host:port` of a URL. */
export const hostOf = (url: string): string => new URL(url).host;

/** What the puller pulls from, and where its files are. */
export interface PullerWorld extends AsyncDisposable {
  readonly folder: { readonly path: string };
  readonly registry: Registry;
  /** Folder of the registry's store. */
  readonly store: string;
  readonly release: SmallRelease;
}

/** The spec of the release with all its components, its index and one operator of it. */
export const fullSpec = ({ release }: Pick<PullerWorld, 'release'>): Record<string, string> => ({
  'platform.image': release.release,
  'operators.indexes': release.index,
  'operators.packagesAndChannels': 'ptp:stable',
});

/** A registry with a small release of components of these sizes. */
export async function startPullerWorld(name: string, sizes: readonly number[]): Promise<PullerWorld> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder(name));
  const store = join(folder.path, 'store');
  const registry = stack.use(await startRegistry({ dir: store, log: () => undefined }));
  const release = await pushSmallRelease(registry.url, sizes);
  return { folder, registry, store, release, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Images of a small release, pushed. */
interface SmallRelease {
  readonly release: string;
  readonly index: string;
  /** Component name to pull spec; the first two are one image under two names. */
  readonly components: Readonly<Record<string, string>>;
  readonly operator: string;
  /** Layer digest to compressed size, of every image. */
  readonly layers: ReadonlyMap<string, number>;
}

/** Pushes a release image with `sizes.length` components that share a base layer, and an index with one operator. */
export async function pushSmallRelease(registryUrl: string, sizes: readonly number[]): Promise<SmallRelease> {
  const store = new MemoryBlobs();
  const host = hostOf(registryUrl);
  await using client = new RegistryClient({ insecureHosts: [host] });
  const layers = new Map<string, number>();
  const layer = async (path: string, bytes: Buffer | string) => {
    const written = await writeLayer(store, { content: { files: [{ path, content: { bytes } }] }, compression: 'gzip', level: 1 });
    layers.set(written.descriptor.digest, written.descriptor.size);
    return written;
  };
  const push = async (repository: string, image: Descriptor): Promise<string> => {
    await pushImage({ client, store, image, reference: parseImageReference(`${host}/${repository}:v1`) });
    return `${REGISTRY_NAME}/${repository}@${image.digest}`;
  };
  const base = await layer('base', randomBytes(1_000_000));
  const build = async (path: string, bytes: Buffer | string) =>
    writeImage(store, { layers: [base, await layer(path, bytes)], platform: currentPlatform() });

  const components: Record<string, string> = {};
  for (const [i, size] of sizes.entries()) {
    const image = await build(`component-${i}`, randomBytes(size));
    components[`component-${i}`] = await push(`release/component-${i}`, image);
    if (i === 0) components['component-alias'] = await push('release/alias', image);
  }
  const operator = await push('operators/ptp', await build('operator', randomBytes(50_000)));
  const { [REFERENCES]: references } = buildReleaseHead('4.20.1', components);
  const catalogue = [
    { schema: 'olm.package', name: 'ptp' },
    { schema: 'olm.channel', package: 'ptp', name: 'stable', entries: [{ name: 'ptp.v2', replaces: 'ptp.v1' }, { name: 'ptp.v1' }] },
    { schema: 'olm.bundle', package: 'ptp', name: 'ptp.v1', relatedImages: [{ name: 'old', image: `${REGISTRY_NAME}/operators/gone:v1` }] },
    { schema: 'olm.bundle', package: 'ptp', name: 'ptp.v2', relatedImages: [{ name: 'ptp', image: operator }] },
  ];
  const release = await push('release/release', await build(REFERENCES, JSON.stringify(references)));
  await push('operators/index', await build('configs/ptp/catalog.json', catalogue.map((object) => JSON.stringify(object)).join('\n')));
  return { release, index: `${REGISTRY_NAME}/operators/index:v1`, components, operator, layers };
}

/** A temporary folder that goes with its scope. */
export async function temporaryFolder(name: string): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), `flotilla-${name}-`));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** What a run of the program left. */
interface PullerRun {
  readonly exitCode: number | null;
  readonly reports: readonly PullerReport[];
  readonly last: PullerReport;
  readonly termination: PullerReport | undefined;
  readonly log: string;
}

/** The program under way. */
interface RunningPuller {
  readonly child: ChildProcess;
  readonly reports: PullerReport[];
  readonly finished: Promise<PullerRun>;
}

/** Starts the program as a process on a spec of its own. */
export async function startPuller(
  dir: string,
  spec: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): Promise<RunningPuller> {
  const config = await mkdtemp(join(dir, 'config-'));
  for (const [key, value] of Object.entries(spec)) await writeFile(join(config, key), value);
  const termination = join(config, 'termination-log');
  await writeFile(termination, '');
  const defaults = {
    CONFIG_VOLUME_PATH: config,
    TERMINATION_LOG: termination,
    PULL_SECRET_PATH: join(config, 'no-secret'),
    PROGRESS_ON_JOB: 'off',
  };
  const child = spawn(process.execPath, [programFile('apps/image-puller/src/main.ts')], {
    env: { PATH: readEnvironment().path, ...defaults, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const reports: PullerReport[] = [];
  let rest = '';
  let log = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    // every line of stdout is a report: anything else fails here
    reports.push(...lines.map((line) => PullerReport.parse(JSON.parse(line))));
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const finished = (async (): Promise<PullerRun> => {
    const [exitCode] = (await once(child, 'close')) as [number | null];
    const message = await readFile(termination, 'utf8');
    const last = reports.at(-1);
    if (!last) throw new Error(`the program printed no report:\n${log}`);
    return { exitCode, reports, last, termination: message === '' ? undefined : PullerReport.parse(JSON.parse(message)), log };
  })();
  return { child, reports, finished };
}

/** Asks a node's runtime, through the program, what it has of a list. */
export async function inspectByPuller(dir: string, list: LayerList, env: Readonly<Record<string, string>>): Promise<InspectAnswer> {
  const config = await mkdtemp(join(dir, 'config-'));
  await writeFile(join(config, LAYER_LIST_KEY), gzipSync(JSON.stringify(list)));
  const variables = {
    PATH: readEnvironment().path,
    CONFIG_VOLUME_PATH: config,
    PROGRESS_ON_JOB: 'off',
    LOG_LEVEL: 'error',
    MODE: 'inspect',
    ...env,
  };
  const child = spawn(process.execPath, [programFile('apps/image-puller/src/main.ts')], {
    env: variables,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  await once(child, 'close');
  return InspectAnswer.parse(JSON.parse(out));
}

/** A containerd of its own, whose mirror of REGISTRY_NAME is the given host over plain HTTP. Needs root; default: Debian's program, which keeps layers that it has unpacked. */
export async function startContainerd(
  dir: string,
  mirror: string,
  { program = 'containerd', discard = false }: { readonly program?: string; readonly discard?: boolean } = {},
): Promise<AsyncDisposable & { readonly socket: string; readonly state: string; readonly restart: () => Promise<void> }> {
  const socket = join(dir, 'containerd.sock');
  const certs = join(dir, 'certs.d', REGISTRY_NAME);
  await mkdir(certs, { recursive: true });
  await writeFile(
    join(certs, 'hosts.toml'),
    `server = "https://${REGISTRY_NAME}"\n[host."http://${mirror}"]\n  capabilities = ["pull", "resolve"]\n`,
  );
  await writeFile(
    join(dir, 'config.toml'),
    `version = 2
root = "${dir}/root"
state = "${dir}/state"
[grpc]
  address = "${socket}"
[ttrpc]
  address = "${dir}/ttrpc.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "${dir}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    discard_unpacked_layers = ${discard}
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "${dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${dir}/certs.d"
# From containerd 2 on the names are these, and its unpacker knows no native snapshotter.
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  discard_unpacked_layers = ${discard}
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "${dir}/certs.d"
`,
  );
  const start = () =>
    startServerProcess({ name: 'containerd', program, args: ['-c', join(dir, 'config.toml')], logFile: join(dir, 'containerd.log') });
  let server = await start();
  const restart = async (): Promise<void> => {
    await server.stop({ signal: 'SIGKILL' });
    server = await start();
  };
  return { socket, state: dir, restart, [Symbol.asyncDispose]: () => server.stop() };
}
