import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntilReady } from '../../processes/readiness.ts';
import type { ServerProcess } from '../../processes/server-process.ts';
import type { Tools } from '../../toolchain/tools.ts';
import { ADMIN, type Credential, renderKubeconfig, writeCredentials } from '../api-server/credentials.ts';
import { commonApiServerFlags, etcdFlags } from '../api-server/flags.ts';
import { probeHttps } from '../api-server/https-probe.ts';
import type { ServerCertificate } from './certificate.ts';
import { KubeletProcess } from './kubelet-process.ts';
import type { ClusterNetwork } from './network.ts';
import { cniConfig, kubeProxyConfig } from './node-config.ts';
import type { NodeSpace } from './node-space.ts';
import { PAUSE_IMAGE, writeProgramImage } from './pause-image.ts';
import type { NodeRuntime } from './runtime.ts';
import type { RuntimeProcess } from './runtime-process.ts';

/** Parts of a cluster that exist before its programs start. */
interface ClusterParts {
  readonly name: string;
  readonly dir: string;
  readonly space: NodeSpace;
  readonly network: ClusterNetwork;
  readonly tools: Tools;
  readonly runtime: NodeRuntime;
  readonly runtimeProcess: RuntimeProcess;
  readonly certificate: ServerCertificate;
  readonly credentials: readonly Credential[];
  readonly pauseProgram: string;
  readonly podCidr: string;
  /** Pods of other nodes are reached by their own addresses. */
  readonly isRouted: boolean;
  readonly apiServerFlags: readonly string[];
}

/** The port every cluster's API server has. */
export const API_SERVER_PORT = 6443;

/** User the kubelet authenticates as. */
export const nodeUser = (name: string) => ({ name: `system:node:${name}`, groups: ['system:nodes'] });

/**
 * Starts every program of the cluster; returns its kubelet and those that a Ready node says nothing about, once the API server answers and the
 * kubelet has what it needs.
 */
export async function startParts(parts: ClusterParts): Promise<{ kubelet: KubeletProcess; processes: ServerProcess[] }> {
  const { keyFile } = await startApiServerParts(parts);
  await fillRuntime(parts);
  // Written once and before its readers start: a program that reads a file in the moment it is written finds it empty, and ends.
  const admin = await writeInternal(parts, ADMIN);
  const kubeconfigs = { admin, kubelet: await writeInternal(parts, nodeUser(parts.name).name) };
  const { kubelet, proxy } = await startNodeParts({ ...parts, address: parts.network.address, kubeconfigs });
  return { kubelet, processes: [proxy, ...(await startControllers(parts, admin, keyFile))] };
}

async function startApiServerParts(parts: ClusterParts): Promise<{ keyFile: string }> {
  const { space, tools, dir, network, certificate } = parts;
  const files = await writeCredentials(dir, parts.credentials);
  const etcd = await space.start('etcd', tools.path('etcd'), etcdFlags({ dataDir: join(dir, 'etcd'), clientPort: 2379, peerPort: 2380 }));
  const apiServer = await space.start('kube-apiserver', tools.path('kube-apiserver'), [
    ...commonApiServerFlags({ ...files, etcdPort: 2379, port: API_SERVER_PORT }),
    `--advertise-address=${network.address}`,
    `--tls-cert-file=${certificate.certFile}`,
    `--tls-private-key-file=${certificate.keyFile}`,
    `--cert-dir=${join(dir, 'certificates')}`,
    '--authorization-mode=Node,RBAC',
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-client-certificate=${certificate.certFile}`,
    `--kubelet-client-key=${certificate.keyFile}`,
    ...parts.apiServerFlags,
  ]);
  // The runtime comes up beside the API server.
  await configureNode(parts);
  const runtime = await parts.runtimeProcess.start();
  const url = `https://${network.adminAddress}:${API_SERVER_PORT}/readyz`;
  await waitUntilReady({
    what: `kube-apiserver of ${parts.name} at ${url}`,
    processes: [etcd, apiServer, runtime],
    check: () => probeHttps(url, certificate.pem, tokenOf(parts, ADMIN)),
  });
  return files;
}

/** Writes the configuration of a node's runtime and its pod network. */
export async function configureNode({
  dir,
  runtime,
  podCidr,
  isRouted,
}: Pick<ClusterParts, 'dir' | 'runtime' | 'podCidr' | 'isRouted'>): Promise<void> {
  for (const folder of ['cni', 'volume-plugins']) await mkdir(join(dir, folder), { recursive: true });
  await writeFile(join(dir, 'cni', '10-pods.conflist'), JSON.stringify(cniConfig(podCidr, isRouted)));
  await runtime.configure();
}

/** Gives a runtime that has just been started the image of every sandbox. */
export async function fillRuntime({
  dir,
  pauseProgram,
  runtime,
  runtimeProcess,
}: Pick<ClusterParts, 'dir' | 'pauseProgram' | 'runtime' | 'runtimeProcess'>): Promise<void> {
  await runtimeProcess.untilReady();
  const archive = join(dir, 'pause.tar');
  await writeProgramImage(archive, pauseProgram, PAUSE_IMAGE);
  await runtime.importImage(archive, PAUSE_IMAGE);
}

/** Parts from which a node's kubelet and kube-proxy are started. */
interface NodeParts extends Pick<ClusterParts, 'name' | 'dir' | 'space' | 'tools' | 'runtime'> {
  readonly address: string;
  /** Paths of the kubeconfigs of kube-proxy and kubelet. */
  readonly kubeconfigs: { readonly admin: string; readonly kubelet: string };
}

/** Starts kubelet and kube-proxy of a node. */
export async function startNodeParts(parts: NodeParts): Promise<{ kubelet: KubeletProcess; proxy: ServerProcess }> {
  const { name, dir, space, tools, kubeconfigs } = parts;
  await writeFile(join(dir, 'resolv.conf'), '');
  await writeFile(join(dir, 'kube-proxy.json'), JSON.stringify(kubeProxyConfig(kubeconfigs.admin)));
  const kubelet = new KubeletProcess(parts);
  await kubelet.start();
  const flags = [`--config=${join(dir, 'kube-proxy.json')}`, `--hostname-override=${name}`];
  return { kubelet, proxy: await space.start('kube-proxy', tools.path('kube-proxy'), flags) };
}

async function startControllers(parts: ClusterParts, admin: string, keyFile: string): Promise<ServerProcess[]> {
  const { dir, space, tools, certificate } = parts;
  const common = [`--kubeconfig=${admin}`, '--leader-elect=false', '--secure-port=0'];
  const manager = await space.start('kube-controller-manager', tools.path('kube-controller-manager'), [
    ...common,
    `--service-account-private-key-file=${keyFile}`,
    `--root-ca-file=${certificate.certFile}`,
    `--flex-volume-plugin-dir=${join(dir, 'volume-plugins')}`,
  ]);
  return [manager, await space.start('kube-scheduler', tools.path('kube-scheduler'), common)];
}

/** Writes a kubeconfig for a program of the cluster itself, over loopback; returns its path. */
async function writeInternal(parts: ClusterParts, user: string): Promise<string> {
  const path = join(parts.dir, `internal-${user.replaceAll(':', '-')}.kubeconfig`);
  const server = `https://127.0.0.1:${API_SERVER_PORT}`;
  await writeFile(path, renderKubeconfig({ server, certificateAuthority: parts.certificate.pem, user, token: tokenOf(parts, user) }), {
    mode: 0o600,
  });
  return path;
}

/** Token of a user. Throws RangeError that names the users there are. */
export function tokenOf({ credentials }: Pick<ClusterParts, 'credentials'>, user: string): string {
  const found = credentials.find(({ name }) => name === user);
  if (!found)
    throw new RangeError(`no user ${user}: give it in options.users; there are ${credentials.map(({ name }) => name).join(', ')}`);
  return found.token;
}
