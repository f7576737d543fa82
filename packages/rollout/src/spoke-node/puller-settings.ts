/** The settings of the puller: its variables, values that a ManagedCluster gives them, and paths of a node that it may get. Pure. */

import { posix } from 'node:path';
import { readJson } from '@flotilla/api';
import { z } from 'zod';
import { quote } from '../values/formats.ts';

/** Variables that the hub gives the puller. The spoke's admission policy admits no others; SECURITY.md lists their values. */
export const PULLER_VARIABLES = [
  'BANDWIDTH',
  'CONFIG_VOLUME_PATH',
  'CRI_SOCKET',
  'FOLLOW',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'IMAGE_GC_HIGH_THRESHOLD_PERCENT',
  'JOB_SECONDS',
  'KUBELET_CONFIG_PATH',
  'MODE',
  'NODES',
  'NODE_OPTIONS',
  'NO_PROXY',
  'PIN_BY',
  'PIN_FOR',
  'PROGRESS_SECONDS',
  'PULL_SECRET_PATH',
  'RECORD_DIR',
  'REGISTRIES_CONF_DIR',
  'REGISTRY_CA',
  'REGISTRY_CERTS_DIRS',
  'REGISTRY_CONFIG',
  'RETRY_FOR_SECONDS',
  'STORE_PATH',
] as const;

/** Name of a puller variable. */
export type PullerVariable = (typeof PULLER_VARIABLES)[number];

/** Values by name; an empty one removes the default. */
export type PullerVariables = Readonly<Partial<Record<PullerVariable, string>>>;

interface ClusterValue {
  /** Annotation of a ManagedCluster; an empty value removes the hub's setting for all. */
  readonly annotation: string;
  /** Variable of the puller. */
  readonly variable: PullerVariable;
  readonly schema: z.ZodType<string>;
  /** Expected form, for the problem's message. */
  readonly hint: string;
}

const proxyUrl = z.url({ protocol: /^https?$/ }).max(1024);
const isJsonList = (text: string): boolean => Array.isArray(readJson(text));

/** Checks the form only; the puller checks the values. */
export const CLUSTER_VALUES: readonly ClusterValue[] = [
  { annotation: 'flotilla.io/http-proxy', variable: 'HTTP_PROXY', schema: proxyUrl, hint: 'http://host:port' },
  { annotation: 'flotilla.io/https-proxy', variable: 'HTTPS_PROXY', schema: proxyUrl, hint: 'http://host:port' },
  {
    annotation: 'flotilla.io/no-proxy',
    variable: 'NO_PROXY',
    schema: z.string().regex(/^[\w.:/*,[\]-]{1,8192}$/),
    hint: 'hosts, domains and networks separated by commas, without blanks',
  },
  {
    annotation: 'flotilla.io/registry-config',
    variable: 'REGISTRY_CONFIG',
    schema: z
      .string()
      .max(64 * 1024)
      .refine(isJsonList),
    hint: '[{"source":"registry.example","mirrors":["mirror:5000"],"insecure":true}]',
  },
  {
    annotation: 'flotilla.io/image-gc-threshold',
    variable: 'IMAGE_GC_HIGH_THRESHOLD_PERCENT',
    schema: z.string().regex(/^([1-9]\d?|100)$/),
    hint: "the kubelet's imageGCHighThresholdPercent, 1 to 100",
  },
];

/**
 * Reads the variables of these annotations, and problems of malformed ones. Problems do not repeat values, because a proxy's URL may hold a password.
 */
export function clusterValues(annotations: Readonly<Record<string, string>>): {
  variables: Partial<Record<PullerVariable, string>>;
  problems: string[];
} {
  const variables: Partial<Record<PullerVariable, string>> = {};
  const problems: string[] = [];
  for (const { annotation, variable, schema, hint } of CLUSTER_VALUES) {
    const value = annotations[annotation];
    if (value === undefined) continue;
    if (value === '' || schema.safeParse(value).success) variables[variable] = value;
    else problems.push(`annotation ${annotation} of the ManagedCluster cannot be used; write ${hint}, or remove it`);
  }
  return { variables, problems };
}

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
