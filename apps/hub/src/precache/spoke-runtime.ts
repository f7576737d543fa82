import type { ManagedCluster } from '@flotilla/api/ocm';

/** Where a spoke's container runtime keeps what the puller needs. */
export interface SpokeRuntime {
  /** CRI socket on the node. */
  readonly socket: string;
  /** A folder on the file system that holds the image store; mounted read-only, for its free space alone. */
  readonly storage: string;
  /** Pull secrets in docker config format on the node; empty for none. */
  readonly pullSecret: string;
}

const openshift: SpokeRuntime = {
  socket: '/run/crio/crio.sock',
  storage: '/var/lib/containers',
  pullSecret: '/var/lib/kubelet/config.json',
};
const kubernetes: SpokeRuntime = { socket: '/run/containerd/containerd.sock', storage: '/var/lib/containerd', pullSecret: '' };

/** Annotations of a ManagedCluster that say where its runtime is, when it is in neither usual place. */
export const RuntimeAnnotation = {
  socket: 'flotilla.io/runtime-socket',
  storage: 'flotilla.io/runtime-storage',
  pullSecret: 'flotilla.io/pull-secret-path',
} as const;

/** OpenShift's places for clusters labelled `vendor: OpenShift`, those of a plain containerd node otherwise; annotations win. */
export function spokeRuntime(cluster: ManagedCluster | undefined): SpokeRuntime {
  const base = cluster?.metadata.labels?.vendor === 'OpenShift' ? openshift : kubernetes;
  const annotations = cluster?.metadata.annotations ?? {};
  return {
    socket: annotations[RuntimeAnnotation.socket] ?? base.socket,
    storage: annotations[RuntimeAnnotation.storage] ?? base.storage,
    pullSecret: annotations[RuntimeAnnotation.pullSecret] ?? base.pullSecret,
  };
}
