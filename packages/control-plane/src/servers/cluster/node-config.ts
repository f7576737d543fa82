import { join } from 'node:path';
import type { NodeRuntime } from './runtime.ts';

/** Pod network: a bridge whose traffic leaves with the node's address, or where pods of other nodes are reached with the pod's own. */
export const cniConfig = (podCidr: string, isRouted: boolean) => ({
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: !isRouted,
      ipam: { type: 'host-local', ranges: [[{ subnet: podCidr }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
});

/** Configuration of the kubelet. */
export const kubeletConfig = (dir: string, { socket, kubelet }: NodeRuntime) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  // Cgroup v1 and hybrid machines are refused by default.
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  enforceNodeAllocatable: [],
  containerRuntimeEndpoint: `unix://${socket}`,
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
  ...kubelet,
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
