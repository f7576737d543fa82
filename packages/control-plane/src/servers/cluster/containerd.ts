import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterCgroup } from '../../processes/cgroups.ts';
import { runCommand } from '../../processes/command.ts';
import { PAUSE_IMAGE } from './pause-image.ts';
import { writeHostsToml } from './registries.ts';
import { type NodeRuntime, ociWrapper, outside, type RuntimeNode } from './runtime.ts';

const SOCKET = '/run/containerd/containerd.sock';

/** Debian's containerd with runc. */
export const containerdRuntime = (node: RuntimeNode): NodeRuntime => runtimeOf(node, { name: 'containerd', program: 'containerd' });

/** containerd 2 with runc: it knows pins. */
export const newContainerdRuntime = (node: RuntimeNode): NodeRuntime =>
  runtimeOf(node, {
    name: 'containerd-2',
    program: node.tools.path('containerd'),
    shim: node.tools.path('containerd-shim-runc-v2'),
  });

/** A version of containerd. */
interface Version {
  readonly name: NodeRuntime['name'];
  readonly program: string;
  /** Path of its shim; default: the one that is installed. */
  readonly shim?: string;
}

function runtimeOf({ dir, space, env }: RuntimeNode, { name, program, shim }: Version): NodeRuntime {
  const configFile = join(dir, 'containerd.toml');
  const ctr = (args: readonly string[]) =>
    runCommand('ctr', ['-a', outside(dir, SOCKET), '-n', 'k8s.io', 'images', ...args], { timeoutMs: 300_000 });
  return {
    name,
    socket: SOCKET,
    kubelet: { cgroupsPerQOS: false },
    readsRegistriesAtStart: false,
    async configure() {
      await mkdir(join(dir, 'certs.d'), { recursive: true });
      await writeFile(runtimeProgram(dir), ociWrapper('runc', [`s|"cgroupsPath":"/k8s.io/|"cgroupsPath":"${clusterCgroup(dir)}/|`]), {
        mode: 0o755,
      });
      await writeFile(configFile, containerdConfig(dir, shim));
    },
    start: () => space.start('containerd', program, ['-c', configFile], env),
    setRegistries: (mirrors) => writeHostsToml(join(dir, 'certs.d'), mirrors),
    async images() {
      const rows = (await ctr(['ls'])).trim().split('\n').slice(1);
      return rows.map((row) => row.split(/\s+/)).map(([name = '', , digest = '']) => ({ name, digest }));
    },
    // The name stands in the archive.
    importImage: async (archive) => void (await ctr(['import', archive])),
  };
}

/**
 * Path of the program that containerd runs as runc: containers get the cluster's cgroup for a parent. By it they are found again, whatever
 * became of them. containerd has the same parent for all clusters of a machine, and a kubelet without quality-of-service groups ignores
 * its `cgroupRoot`.
 */
const runtimeProgram = (dir: string): string => join(dir, 'runc');

/** Configuration of containerd 1.6 or later. */
const containerdConfig = (dir: string, shim: string | undefined): string => `version = 2
root = "/var/lib/containerd"
state = "/run/containerd/state"
[grpc]
  address = "${SOCKET}"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  disable_apparmor = true
  # Without CAP_SYS_RESOURCE runc cannot lower the score of a sandbox, and every pod would fail.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"${shim === undefined ? '' : `\n    runtime_path = "${shim}"`}
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "${runtimeProgram(dir)}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${dir}/certs.d"
`;
