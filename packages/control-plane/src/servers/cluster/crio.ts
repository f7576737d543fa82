import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { clusterCgroup, createClusterCgroup } from '../../processes/cgroups.ts';
import { PAUSE_IMAGE } from './pause-image.ts';
import { writeContainersConfig } from './registries.ts';
import { type NodeRuntime, ociWrapper, type RuntimeNode, type StoredImage } from './runtime.ts';

const SOCKET = '/run/crio/crio.sock';
const STORE = '/var/lib/containers/storage';
const STATE = '/run/containers/storage';

/** CRI-O with crun, and everything where a node of OpenShift has it. */
export function crioRuntime({ dir, space, tools, env }: RuntimeNode): NodeRuntime {
  const configFile = join(dir, 'crio.conf');
  const containersFolder = join(dir, 'etc-containers');
  const noDropIns = join(dir, 'crio.conf.d');
  return {
    name: 'crio',
    socket: SOCKET,
    // CRI-O and conmon take their cgroups' parent from the kubelet.
    kubelet: { cgroupsPerQOS: true, cgroupRoot: clusterCgroup(dir) },
    readsRegistriesAtStart: true,
    async configure() {
      await createClusterCgroup(dir);
      await mkdir(noDropIns, { recursive: true });
      await writeFile(runtimeProgram(dir), ociWrapper('/usr/bin/crun', CHANGES), { mode: 0o755 });
      await writeFile(configFile, crioConfig(dir, tools.path('pinns')));
    },
    start: () => space.start('crio', tools.path('crio'), ['--config', configFile, '--config-dir', noDropIns], env),
    setRegistries: (mirrors) => writeContainersConfig(containersFolder, mirrors),
    images: () => readStore(join(dir, 'var-lib/containers/storage')),
    async importImage(archive, name) {
      await space.run(tools.path('import-image'), [STORE, STATE, archive, name], { timeoutMs: 300_000 });
    },
  };
}

/** Path of the program that CRI-O runs as crun. */
const runtimeProgram = (dir: string): string => join(dir, 'crun');

const CHANGES = [
  // Debian's crun 1.8 refuses the version of the specification, not what CRI-O uses of it.
  's|"ociVersion": *"1[.][1-9][^"]*"|"ociVersion":"1.0.2"|',
  // Not every machine has the hierarchy that the limits would be written into.
  's|"hugepageLimits": *\\[[^]]*\\]|"hugepageLimits":[]|',
  // Without CAP_SYS_RESOURCE no score can be lowered, and every guaranteed pod would fail.
  's|"oomScoreAdj": *-[0-9]*|"oomScoreAdj":0|',
];

const Images = z.array(z.looseObject({ names: z.array(z.string()).default([]), digest: z.string() }));

/** The store's own record of its images: it lies where CRI-O and its kin read and write it, and asking it needs no CRI-O. */
async function readStore(root: string): Promise<StoredImage[]> {
  const images = Images.parse(JSON.parse(await readFile(join(root, 'overlay-images/images.json'), 'utf8')));
  return images.flatMap(({ names, digest }) => names.map((name) => ({ name, digest })));
}

/** Configuration of CRI-O 1.34. */
const crioConfig = (dir: string, pinns: string): string => `[crio]
root = "${STORE}"
runroot = "${STATE}"
storage_driver = "overlay"
log_dir = "/var/log/crio/pods"
version_file = "/run/crio/version"
version_file_persist = ""
clean_shutdown_file = "/var/lib/crio/clean.shutdown"
[crio.api]
listen = "${SOCKET}"
stream_address = "127.0.0.1"
[crio.runtime]
conmon = "/usr/bin/conmon"
conmon_cgroup = "pod"
cgroup_manager = "cgroupfs"
default_runtime = "crun"
container_exits_dir = "/run/crio/exits"
container_attach_socket_dir = "/run/crio/attach"
namespaces_dir = "/run/crio/namespaces"
seccomp_profile = ""
apparmor_profile = "unconfined"
hooks_dir = []
# Unlimited is -1, which Debian's crun writes as it is.
pids_limit = 4096
pinns_path = "${pinns}"
[crio.runtime.runtimes.crun]
runtime_path = "${runtimeProgram(dir)}"
runtime_type = "oci"
runtime_root = "/run/crun"
monitor_path = "/usr/bin/conmon"
monitor_cgroup = "pod"
[crio.image]
pause_image = "${PAUSE_IMAGE}"
pause_command = "/pause"
signature_policy = "/etc/containers/policy.json"
[crio.network]
network_dir = "${dir}/cni"
plugin_dirs = ["/usr/lib/cni"]
[crio.nri]
enable_nri = false
[crio.metrics]
enable_metrics = false
`;
