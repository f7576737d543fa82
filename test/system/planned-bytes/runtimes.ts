/** Runtimes as processes of their own, each behind a registry that counts. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startServerProcess } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { type CountingRegistry, startCountingRegistry } from '../counting-registry.ts';
import { REGISTRY_NAME, startContainerd, temporaryFolder } from '../image-puller-fixture.ts';

/** A runtime under way. */
export interface RuntimeNode extends AsyncDisposable {
  readonly registry: CountingRegistry;
  /** Variables of a puller on this node. */
  readonly env: Readonly<Record<string, string>>;
}

/** A kind of runtime. */
interface RuntimeKind {
  readonly name: string;
  /** Pulls can be broken off and gone on with. */
  readonly resumes: boolean;
  readonly start: (target: string) => Promise<RuntimeNode>;
}

const mirrors = (host: string) => JSON.stringify([{ source: REGISTRY_NAME, mirrors: [host], insecure: true }]);

async function startWith(target: string, start: (dir: string, host: string) => Promise<AsyncDisposable & { readonly socket: string }>) {
  const stack = new AsyncDisposableStack();
  const registry = stack.use(await startCountingRegistry(target));
  const dir = stack.use(await temporaryFolder('planned'));
  const { socket } = stack.use(await start(dir.path, registry.at));
  await eventually(() => existsSync(socket), 'the socket of the runtime', 60_000);
  const env = { CRI_SOCKET: socket, REGISTRY_CONFIG: mirrors(registry.at), RETRY_FOR_SECONDS: '60' };
  return { registry, env, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const containerd = (name: string, discard: boolean, program: () => Promise<string>): RuntimeKind => ({
  name,
  resumes: true,
  start: (target) =>
    startWith(target, async (dir, host) => startContainerd(dir, host, { program: await program(), ...(discard && { discard }) })),
});
const newest = async () => (await ensureTools(['containerd'])).path('containerd');

async function startCrio(dir: string, host: string): Promise<AsyncDisposable & { readonly socket: string }> {
  const tools = await ensureTools(['crio', 'pinns']);
  const socket = join(dir, 'crio.sock');
  // A home folder's registries.conf goes before the machine's.
  const config = join(dir, '.config/containers');
  for (const folder of [join(dir, 'drop-ins'), join(dir, 'cni'), config]) await mkdir(folder, { recursive: true });
  await writeFile(join(dir, 'policy.json'), JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  const registries = `[[registry]]\nprefix = "${REGISTRY_NAME}"\nlocation = "${host}"\ninsecure = true\n`;
  await writeFile(join(config, 'registries.conf'), registries);
  await writeFile(join(dir, 'crio.conf'), crioConfig(dir, tools.path('pinns')));
  await chmod(dir, 0o755);
  const server = await startServerProcess({
    name: 'crio',
    program: tools.path('crio'),
    args: ['--config', join(dir, 'crio.conf'), '--config-dir', join(dir, 'drop-ins')],
    env: { HOME: dir },
    logFile: join(dir, 'crio.log'),
  });
  return { socket, [Symbol.asyncDispose]: () => server.stop() };
}

const crioConfig = (dir: string, pinns: string): string => `[crio]
root = "${dir}/root"
runroot = "${dir}/runroot"
storage_driver = "overlay"
log_dir = "${dir}/log"
version_file = "${dir}/version"
version_file_persist = ""
clean_shutdown_file = "${dir}/clean"
[crio.api]
listen = "${dir}/crio.sock"
[crio.runtime]
conmon = "/usr/bin/conmon"
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
default_runtime = "crun"
container_exits_dir = "${dir}/exits"
container_attach_socket_dir = "${dir}/attach"
namespaces_dir = "${dir}/ns"
seccomp_profile = ""
apparmor_profile = "unconfined"
pinns_path = "${pinns}"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/bin/crun"
runtime_type = "oci"
runtime_root = "${dir}/crun"
monitor_path = "/usr/bin/conmon"
[crio.image]
signature_policy = "${dir}/policy.json"
signature_policy_dir = "${dir}/policies"
pause_image = "registry.test/pause:1"
[crio.network]
network_dir = "${dir}/cni"
plugin_dirs = ["${dir}/cni"]
[crio.nri]
enable_nri = false
[crio.metrics]
enable_metrics = false
`;

/** Every runtime of the proof. */
export const RUNTIMES: readonly RuntimeKind[] = [
  containerd('containerd of Debian', false, async () => 'containerd'),
  containerd('containerd of Debian, which discards unpacked layers', true, async () => 'containerd'),
  containerd('containerd 2', false, newest),
  containerd('containerd 2, which discards unpacked layers', true, newest),
  { name: 'CRI-O', resumes: false, start: (target) => startWith(target, startCrio) },
];
