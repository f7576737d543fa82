import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterCgroup } from '../runs/cgroups.ts';
import { PAUSE_IMAGE } from './pause-image.ts';

/** The runtime's socket as the node sees it, where every node has it. */
const NODE_CONTAINERD_SOCKET = '/run/containerd/containerd.sock';

/** A registry that the node reaches at another place than its name says. */
export interface RegistryMirror {
  /** Host of the image names, `registry.flotilla.test` for example. */
  readonly host: string;
  /** URL to fetch from; a function gets the address of this machine as seen from the cluster. */
  readonly endpoint: string | ((gatewayAddress: string) => string);
}

/** Tells containerd where a registry is; taken up at the next pull. */
export async function writeRegistryMirror(certsDir: string, mirror: RegistryMirror, gatewayAddress: string): Promise<void> {
  const endpoint = typeof mirror.endpoint === 'string' ? mirror.endpoint : mirror.endpoint(gatewayAddress);
  await mkdir(join(certsDir, mirror.host), { recursive: true });
  const text = `server = "${endpoint}"\n[host."${endpoint}"]\n  capabilities = ["pull", "resolve"]\n`;
  await writeFile(join(certsDir, mirror.host, 'hosts.toml'), text);
}

/** Path of the program that containerd runs as runc. */
export const runtimeProgram = (dir: string): string => join(dir, 'runc');

/**
 * runc, but containers get the cluster's cgroup for a parent: by it they are found again, whatever became of them. containerd
 * has the same parent for all clusters of a machine, and a kubelet without quality-of-service groups ignores its `cgroupRoot`.
 */
export const runtimeScript = (dir: string): string => `#!/bin/sh -e
last=
for arg; do
  if [ "$last" = --bundle ]; then sed -i 's|"cgroupsPath":"/k8s.io/|"cgroupsPath":"${clusterCgroup(dir)}/|' "$arg/config.json"; fi
  last=$arg
done
exec runc "$@"
`;

/** Configuration of containerd 1.6 or later. */
export const containerdConfig = (dir: string): string => `version = 2
root = "/var/lib/containerd"
state = "/run/containerd/state"
[grpc]
  address = "${NODE_CONTAINERD_SOCKET}"
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
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "${runtimeProgram(dir)}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${dir}/certs.d"
`;

/** Pod network: a bridge whose traffic leaves with the node's address. */
export const cniConfig = (podCidr: string) => ({
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: podCidr }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
});

/** Configuration of the kubelet. */
export const kubeletConfig = (dir: string) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  // Cgroup v1 and hybrid machines are refused by default.
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  cgroupsPerQOS: false,
  enforceNodeAllocatable: [],
  containerRuntimeEndpoint: `unix://${NODE_CONTAINERD_SOCKET}`,
  failSwapOn: false,
  port: 10250,
  readOnlyPort: 0,
  healthzPort: 0,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  localStorageCapacityIsolation: false,
  // The disk is the whole machine's: how full it is says nothing about the test.
  evictionHard: { 'memory.available': '50Mi' },
  imageGCHighThresholdPercent: 100,
  serializeImagePulls: false,
  registryPullQPS: 0,
  // No name server: a look-up fails at once instead of waiting for one that is out of reach.
  resolvConf: join(dir, 'resolv.conf'),
  volumePluginDir: join(dir, 'volume-plugins'),
});

/** Configuration of kube-proxy. */
export const kubeProxyConfig = (kubeconfig: string) => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  mode: 'iptables',
  clientConnection: { kubeconfig },
  conntrack: { maxPerCore: 0, min: 0 },
  // A write of the rules that failed is tried again after this; the default of 30 s is long for a cluster that lives for a minute.
  iptables: { syncPeriod: '5s' },
  metricsBindAddress: '127.0.0.1:10249',
});
