import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Job, Namespace } from '@flotilla/api/core';
import { DEFAULT_NODE_RULES, type NodeRules, SpokeName } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { type CountingRegistry, startCountingRegistry } from './counting-registry.ts';
import { type PullerWorld, REGISTRY_NAME, startContainerd, startPuller, temporaryFolder } from './image-puller-fixture.ts';

/** A spoke of several nodes without kubelets: an API server, and for each node a containerd and a puller on loopback, behind one counting registry. */

const namespace = SpokeName.namespace;
const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: SpokeName.job, namespace },
  spec: {
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'puller', image: 'puller' }] } },
  },
};
const TokenAnswer = z.object({ status: z.object({ token: z.string() }) });

/** A node of the spoke: its runtime outlives its puller. */
export interface PullerNode {
  readonly name: string;
  readonly address: string;
  readonly socket: string;
  readonly ctr: (...args: string[]) => Promise<string>;
  /** Folder with its store. */
  readonly dir: string;
  readonly snapshotter: string;
  /** Path of a blob in its content store. */
  readonly blobPath: (digest: string) => string;
  /** Names of the images that are there and unpacked. */
  readonly ready: () => Promise<string[]>;
  /** Starts the puller of Job `pre-cache` here. */
  readonly lead: (env?: Readonly<Record<string, string>>, rules?: Partial<NodeRules>) => ReturnType<typeof startPuller>;
  /** Starts the puller of the DaemonSet here. */
  readonly follow: (env?: Readonly<Record<string, string>>) => ReturnType<typeof startPuller>;
  /** Kills its runtime and starts it again; its puller is the caller's. */
  readonly reboot: () => Promise<void>;
  /** A token of this node's pod. */
  readonly token: () => Promise<string>;
}

/** The spoke. */
export interface PullerSpoke extends AsyncDisposable {
  readonly server: ApiServer;
  readonly admin: Client;
  readonly registry: CountingRegistry;
  readonly nodes: readonly PullerNode[];
  /** Adds a node to the cluster. */
  readonly addNode: () => Promise<PullerNode>;
  /** Takes a node out of the cluster's list. */
  readonly removeNode: (name: string) => Promise<void>;
  /** Keeps new pods off a node, but for those of DaemonSets. */
  readonly cordonNode: (name: string) => Promise<void>;
  /** Makes Job `pre-cache` anew, as another attempt does. */
  readonly renewJob: () => Promise<void>;
}

/** Options of a spoke. */
interface SpokeOptions {
  readonly world: PullerWorld;
  readonly nodes: number;
  /** Program of containerd. */
  readonly program: string;
  /** Nodes with a disk of their own: name to MiB. */
  readonly disks?: Readonly<Record<string, number>>;
  readonly spec: Readonly<Record<string, string>>;
}

/** Starts a spoke; every account has the rights that the charts give it. */
export async function startSpoke({ world, nodes: count, program, spec, disks = {} }: SpokeOptions): Promise<PullerSpoke> {
  const stack = new AsyncDisposableStack();
  const groups = ['system:serviceaccounts'];
  const server = stack.use(await startApiServer({ users: ['lead', 'node'].map((name) => ({ name, groups })) }));
  const admin = await server.client();
  await prepare(admin);
  const registry = stack.use(await startCountingRegistry(world.registry.url));
  const nodes: PullerNode[] = [];
  const renewJob = async (): Promise<void> => {
    await admin.delete(Job, { namespace, name: SpokeName.job }, { propagationPolicy: 'Background' });
    await admin.create(Job, JOB);
  };
  await renewJob();
  const addNode = async (): Promise<PullerNode> => {
    const node = await startNode({ world, server, admin, registry, program, spec, disks, index: nodes.length + 1, stack });
    nodes.push(node);
    return node;
  };
  for (let index = 0; index < count; index += 1) await addNode();
  const removeNode = async (name: string): Promise<void> => void (await admin.request('DELETE', `/api/v1/nodes/${name}`));
  const cordonNode = async (name: string): Promise<void> => {
    const body = { spec: { unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] } };
    await admin.request('PATCH', `/api/v1/nodes/${name}`, { body, contentType: 'application/merge-patch+json' });
  };
  return { server, admin, registry, nodes, addNode, removeNode, cordonNode, renewJob, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function prepare(admin: Client): Promise<void> {
  await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const grant = async (name: string, where: string, rules: readonly object[]): Promise<void> => {
    const kind = where === '' ? 'ClusterRole' : 'Role';
    const path = `${rbac}${where}`;
    await admin.request('POST', `${path}/${kind.toLowerCase()}s`, { body: { metadata: { name }, rules } });
    const body = {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name }],
    };
    await admin.request('POST', `${path}/${kind.toLowerCase()}bindings`, { body });
  };
  const own = { apiGroups: ['batch'], resourceNames: [SpokeName.job] };
  await grant('lead', '', [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }]);
  await grant('lead', `/namespaces/${namespace}`, [{ ...own, resources: ['jobs/status'], verbs: ['patch'] }]);
  await grant('node', `/namespaces/${namespace}`, [{ ...own, resources: ['jobs'], verbs: ['get'] }]);
  await admin.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: { metadata: { name: SpokeName.nodeAccount } } });
}

interface NodeParts extends Omit<SpokeOptions, 'nodes'> {
  readonly server: ApiServer;
  readonly admin: Client;
  readonly registry: CountingRegistry;
  readonly index: number;
  readonly stack: AsyncDisposableStack;
}

async function startNode({ world, server, admin, registry, program, spec, disks = {}, index, stack }: NodeParts): Promise<PullerNode> {
  const name = `node-${index}`;
  const address = `127.44.0.${index}`;
  const dir = stack.use(await temporaryFolder(name));
  if (disks[name] !== undefined) stack.use(await mountDisk(dir.path, disks[name]));
  const containerd = stack.use(await startContainerd(dir.path, registry.at, { program }));
  await eventually(() => existsSync(containerd.socket), 'the socket');
  await admin.request('POST', '/api/v1/nodes', { body: { metadata: { name } } });
  const pod = `pre-cache-nodes-${index}`;
  const body = {
    metadata: { name: pod },
    spec: { nodeName: name, serviceAccountName: SpokeName.nodeAccount, containers: [{ name: 'puller', image: 'puller' }] },
  };
  const made = z.object({ metadata: z.object({ uid: z.string() }) });
  const { metadata } = made.parse(await admin.request('POST', `/api/v1/namespaces/${namespace}/pods`, { body }));
  const token = async (): Promise<string> => {
    const bound = { kind: 'Pod', apiVersion: 'v1', name: pod, uid: metadata.uid };
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${SpokeName.nodeAccount}/token`;
    const request = { spec: { audiences: ['flotilla-pre-cache'], expirationSeconds: 3_600, boundObjectRef: bound } };
    return TokenAnswer.parse(await admin.request('POST', path, { body: request })).status.token;
  };
  const tokenFile = join(dir.path, 'token');
  await writeFile(tokenFile, await token());
  const ctr = async (...args: string[]): Promise<string> => runCommand('ctr', ['-a', containerd.socket, '-n', 'k8s.io', ...args]);
  const env = {
    CRI_SOCKET: containerd.socket,
    REGISTRY_CONFIG: JSON.stringify([{ source: REGISTRY_NAME, mirrors: [registry.at], insecure: true }]),
    NODE_NAME: name,
    POD_IP: address,
    PEER_PORT: '0',
    RECORD_DIR: join(dir.path, 'records'),
  };
  return {
    name,
    address,
    socket: containerd.socket,
    ctr,
    dir: dir.path,
    snapshotter: 'overlayfs',
    blobPath: (digest) => join(dir.path, 'root/io.containerd.content.v1.content/blobs', digest.replace(':', '/')),
    ready: async () => (await ctr('images', 'check', '--quiet', '--snapshotter', 'overlayfs')).split('\n').filter((line) => line !== ''),
    lead: async (more = {}, rules = {}) => {
      const own = { KUBECONFIG: await server.kubeconfigFor('lead'), NODES: JSON.stringify({ ...DEFAULT_NODE_RULES, ...rules }) };
      return startPuller(world.folder.path, spec, { ...env, ...own, PROGRESS_ON_JOB: 'on', PROGRESS_SECONDS: '1', ...more });
    },
    follow: async (more = {}) => {
      const own = { KUBECONFIG: await server.kubeconfigFor('node'), FOLLOW: 'on', POD_TOKEN: tokenFile };
      const running = await startPuller(world.folder.path, spec, { ...env, ...own, ...more });
      // A follower has no end of its own.
      stack.defer(() => void running.child.kill('SIGKILL'));
      return running;
    },
    reboot: async () => {
      await containerd.restart();
      await eventually(() => ctr('version'), 'the runtime to answer');
    },
    token,
  };
}

/** A file system of its own, of so many MiB. */
async function mountDisk(path: string, mebibytes: number): Promise<AsyncDisposable> {
  await runCommand('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]);
  return { [Symbol.asyncDispose]: async () => void (await runCommand('umount', ['--lazy', path])) };
}
