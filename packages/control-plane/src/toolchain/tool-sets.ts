import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Programs that the real parts are made of. */
export type ToolName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubelet'
  | 'kube-proxy'
  | 'kubectl'
  | 'registry'
  | 'helm'
  | 'ocm-work'
  | 'ocm-placement'
  | 'policy-propagator'
  | 'config-policy-controller'
  | 'containerd'
  | 'containerd-shim-runc-v2'
  | 'crio'
  | 'pinns'
  | 'import-image'
  | 'cosign'
  | 'oauth2-proxy'
  | 'actionlint'
  | 'kstatus';

/** A program that is compiled from the C sources of a Go module. */
export interface CProgram {
  readonly module: string;
  /** Folder in the module; all `.c` files in it are the program. */
  readonly folder: string;
}

/** Programs that are built together, from one `go.mod`. */
export interface ToolSet {
  readonly name: string;
  /** Set in whose folder its `go.mod` lies; default: its own. */
  readonly module?: string;
  /** Program → Go package of its `main`. */
  readonly packages: Readonly<Partial<Record<ToolName, string>>>;
  /** Words for the user: how long a build from an empty cache takes on two cores. */
  readonly coldBuild: string;
  readonly linkerFlags?: string;
  /** CRDs that lie in the folder `crds` beside the programs: Go module → paths in it. */
  readonly crds?: Readonly<Record<string, readonly string[]>>;
  /** Go build tags. */
  readonly tags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Programs of C that belong to the Go ones. */
  readonly cPrograms?: Readonly<Partial<Record<ToolName, CProgram>>>;
}

const kubernetes = (program: string) => `k8s.io/kubernetes/cmd/${program}`;
const ocm = (path: string) => `open-cluster-management.io/${path}`;
const version = (variable: string, value: string) => `-X k8s.io/component-base/version.${variable}=${value}`;

/** Without it the programs call themselves v0.0.0-master, which helm and discovery clients do not understand. */
const KUBERNETES_VERSION = [version('gitVersion', 'v1.36.1'), version('gitMajor', '1'), version('gitMinor', '36')].join(' ');

/** Every set in the order of builds; the versions are those of the `go.mod` files under `tools/`. */
export const TOOL_SETS: readonly ToolSet[] = [
  { name: 'etcd', packages: { etcd: 'go.etcd.io/etcd/server/v3' }, coldBuild: 'about 1 minute' },
  { name: 'registry', packages: { registry: 'flotilla.dev/tools/registry/registry' }, coldBuild: 'half a minute' },
  {
    name: 'kubernetes',
    packages: { 'kube-apiserver': kubernetes('kube-apiserver') },
    coldBuild: 'about 2 minutes',
    linkerFlags: KUBERNETES_VERSION,
  },
  {
    // Tests that run anywhere need none of these, a third of what they would build.
    name: 'kubernetes-cluster',
    module: 'kubernetes',
    packages: {
      'kube-controller-manager': kubernetes('kube-controller-manager'),
      'kube-scheduler': kubernetes('kube-scheduler'),
      kubectl: kubernetes('kubectl'),
      // A node exists on Linux alone; elsewhere these two would only cost time.
      ...(process.platform === 'linux' && { kubelet: kubernetes('kubelet'), 'kube-proxy': kubernetes('kube-proxy') }),
    },
    coldBuild: 'about 2 minutes',
    linkerFlags: KUBERNETES_VERSION,
  },
  { name: 'helm', packages: { helm: 'helm.sh/helm/v4/cmd/helm' }, coldBuild: 'about 2 minutes' },
  {
    name: 'cosign',
    packages: { cosign: 'github.com/sigstore/cosign/v3/cmd/cosign' },
    env: { CGO_ENABLED: '0' },
    linkerFlags: '-s -w',
    coldBuild: 'about 4 minutes',
  },
  {
    name: 'actionlint',
    packages: { actionlint: 'github.com/rhysd/actionlint/cmd/actionlint' },
    env: { CGO_ENABLED: '0' },
    coldBuild: 'half a minute',
  },
  {
    name: 'kstatus',
    packages: { kstatus: 'flotilla.dev/tools/kstatus' },
    env: { CGO_ENABLED: '0' },
    linkerFlags: '-s -w',
    coldBuild: 'half a minute',
  },
  {
    name: 'oauth2-proxy',
    packages: { 'oauth2-proxy': 'github.com/oauth2-proxy/oauth2-proxy/v7' },
    env: { CGO_ENABLED: '0' },
    linkerFlags: '-s -w',
    coldBuild: 'about 2 minutes',
  },
  {
    // Debian's is 1.6; what a puller does to a content store must hold on both.
    name: 'containerd',
    packages: {
      containerd: 'github.com/containerd/containerd/v2/cmd/containerd',
      // It does not work with Debian's.
      'containerd-shim-runc-v2': 'github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2',
    },
    tags: ['no_btrfs', 'no_devmapper', 'no_zfs'],
    env: { CGO_ENABLED: '0' },
    linkerFlags: '-s -w -X github.com/containerd/containerd/v2/version.Version=2.4.2',
    coldBuild: 'about 3 minutes',
  },
  {
    name: 'crio',
    packages: { crio: 'github.com/cri-o/cri-o/cmd/crio', 'import-image': 'flotilla.dev/tools/crio/import-image' },
    // gpgme and btrfs would need C libraries; policies with signatures and that file system are not used here.
    tags: ['containers_image_openpgp', 'exclude_graphdriver_btrfs'],
    env: { CGO_ENABLED: '0' },
    cPrograms: { pinns: { module: 'github.com/cri-o/cri-o', folder: 'pinns/src' } },
    coldBuild: 'about 4 minutes',
  },
  {
    name: 'ocm',
    packages: { 'ocm-work': ocm('ocm/cmd/work'), 'ocm-placement': ocm('ocm/cmd/placement') },
    coldBuild: 'about 5 minutes',
    linkerFlags: '-s -w',
    crds: {
      [ocm('api')]: [
        'cluster/v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml',
        'cluster/v1alpha1/0000_05_clusters.open-cluster-management.io_addonplacementscores.crd.yaml',
        'cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml',
        'cluster/v1beta1/0000_03_clusters.open-cluster-management.io_placementdecisions.crd.yaml',
        'cluster/v1beta2/0000_00_clusters.open-cluster-management.io_managedclustersets.crd.yaml',
        'cluster/v1beta2/0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml',
        'work/v1/0000_00_work.open-cluster-management.io_manifestworks.crd.yaml',
        'work/v1/0000_01_work.open-cluster-management.io_appliedmanifestworks.crd.yaml',
        'work/v1alpha1/0000_00_work.open-cluster-management.io_manifestworkreplicasets.crd.yaml',
      ],
    },
  },
  {
    name: 'policy-propagator',
    packages: { 'policy-propagator': ocm('governance-policy-propagator') },
    coldBuild: 'about 4 minutes',
    linkerFlags: '-s -w',
    crds: {
      [ocm('governance-policy-propagator')]: ['policies', 'placementbindings', 'policysets', 'policyautomations'].map(
        (plural) => `deploy/crds/policy.open-cluster-management.io_${plural}.yaml`,
      ),
    },
  },
  {
    name: 'config-policy',
    packages: { 'config-policy-controller': ocm('config-policy-controller') },
    coldBuild: 'half a minute',
    linkerFlags: '-s -w',
    crds: { [ocm('config-policy-controller')]: ['deploy/crds/policy.open-cluster-management.io_configurationpolicies.yaml'] },
  },
];

/** Everything a built set consists of, as paths in its folder. */
export const filesOf = ({
  packages,
  cPrograms = {},
  crds = {},
}: ToolSet): { readonly programs: readonly string[]; readonly crds: readonly string[] } => ({
  programs: [...Object.keys(packages), ...Object.keys(cPrograms)],
  crds: Object.values(crds)
    .flat()
    .map((path) => join(CRDS, basename(path))),
});

/** Folder of a built set that has its CRDs. */
export const CRDS = 'crds';

/** Folder with a `go.mod` of ours. */
export const moduleFolder = (module: string): string => fileURLToPath(new URL(`../../tools/${module}`, import.meta.url));

/** Folder with the `go.mod` of a set. */
export const folderOf = ({ name, module = name }: ToolSet): string => moduleFolder(module);

/** Identifies a build by its locked sources, the machine and its linking; compile flags change nothing that a program does. */
export async function buildKey(set: ToolSet): Promise<string> {
  const folder = folderOf(set);
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(`${folder}/${file}`));
  const own = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.go')).toSorted();
  for (const file of own) hash.update(await readFile(`${folder}/${file}`));
  const { crds, tags, env, cPrograms } = set;
  const rest = [...(crds ? [crds] : []), ...(tags || env || cPrograms ? [tags, env, cPrograms] : [])];
  hash.update(JSON.stringify([process.platform, process.arch, set.linkerFlags, set.packages, ...rest]));
  return hash.digest('hex').slice(0, 16);
}
