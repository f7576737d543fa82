/** Paths of a node that the puller may get, and their use. Pure. */
import { posix } from 'node:path';
import { quote } from '../values/go-format.ts';
import type { PullerVariable } from './puller-variables.ts';

/** Type of the volume. `DirectoryOrCreate` suits a folder that may be missing, because a pod with a missing `Directory` never starts. */
export type NodePathType = 'Directory' | 'DirectoryOrCreate' | 'File';

/** A path of the node that the puller gets when it is known to exist. */
interface NodePath {
  /** Annotation of a ManagedCluster that names the path; an empty value means that there is none. */
  readonly annotation: string;
  /** Allowed paths and their parents: the path becomes a mount in a pod that runs as root. */
  readonly places: readonly string[];
  readonly type: NodePathType;
  /** Variable that tells the puller the mount path. */
  readonly variable: PullerVariable;
  /** Path on every OpenShift node. Other products get no default, because a pod whose host path is missing never starts. */
  readonly openshift?: string;
}

/** Allowed places of the runtime's socket. Its folder is mounted, because a restarted runtime makes a new socket. */
export const SOCKET_PATH = {
  annotation: 'flotilla.io/runtime-socket',
  places: ['/run', '/var/run', '/var/snap/microk8s/common/run'],
} as const;

/** Folder of every Linux node where runtimes put their sockets. */
export const RUN_DIRECTORY = '/run';

/** Default sockets, in the order of trial: runtimes of a Kubernetes distribution precede general ones. */
export const RUNTIME_SOCKETS = [
  '/run/crio/crio.sock',
  '/run/k3s/containerd/containerd.sock',
  '/run/k0s/containerd.sock',
  '/run/containerd/containerd.sock',
  '/run/cri-dockerd.sock',
] as const;

/** Other paths of a node that the puller can use. All are mounted read-only. */
export const NODE_PATHS: readonly NodePath[] = [
  {
    annotation: 'flotilla.io/runtime-storage',
    places: [
      '/var/lib/containers',
      '/var/lib/containerd',
      '/var/lib/docker',
      '/var/lib/k0s/containerd',
      '/var/lib/rancher/k3s/agent/containerd',
      '/var/lib/rancher/rke2/agent/containerd',
      '/var/snap/microk8s/common/var/lib/containerd',
    ],
    type: 'Directory',
    variable: 'STORE_PATH',
    openshift: '/var/lib/containers',
  },
  {
    annotation: 'flotilla.io/pull-secret-path',
    places: ['/var/lib/kubelet/config.json', '/etc/crio', '/etc/containers', '/run/containers', '/root/.docker'],
    type: 'File',
    variable: 'PULL_SECRET_PATH',
    openshift: '/var/lib/kubelet/config.json',
  },
  {
    annotation: 'flotilla.io/registries-conf-dir',
    places: ['/etc/containers'],
    type: 'Directory',
    variable: 'REGISTRIES_CONF_DIR',
    openshift: '/etc/containers',
  },
  {
    annotation: 'flotilla.io/registry-certs-dir',
    places: ['/etc/docker/certs.d'],
    type: 'DirectoryOrCreate',
    variable: 'REGISTRY_CERTS_DIRS',
    openshift: '/etc/docker/certs.d',
  },
  {
    annotation: 'flotilla.io/ca-bundle-path',
    places: ['/etc/pki/ca-trust', '/etc/pki/tls/certs', '/etc/ssl/certs', '/etc/ssl/ca-bundle.pem', '/usr/local/share/ca-certificates'],
    type: 'File',
    variable: 'REGISTRY_CA',
    openshift: '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  },
  {
    annotation: 'flotilla.io/kubelet-config-path',
    places: [
      '/etc/kubernetes/kubelet.conf',
      '/etc/kubernetes/kubelet',
      '/var/lib/kubelet/config.yaml',
      '/var/lib/microshift/resources/kubelet',
      '/var/lib/rancher/k3s/agent/etc',
      '/var/lib/rancher/rke2/agent/etc',
    ],
    type: 'File',
    variable: 'KUBELET_CONFIG_PATH',
    openshift: '/etc/kubernetes/kubelet.conf',
  },
];

/** Explains why an annotation's path cannot be used; undefined when it can. */
export function pathProblem(annotation: string, path: string, places: readonly string[]): string | undefined {
  const isPlain = path.length <= 256 && /^\/[\w./@+-]+$/.test(path) && posix.normalize(path) === path && !path.endsWith('/');
  if (isPlain && places.some((place) => path === place || path.startsWith(`${place}/`))) return undefined;
  return `annotation ${annotation} of the ManagedCluster is ${quote(path)}; name a path of the node that is or lies below ${places.join(', ')}, without "..", or remove it`;
}
