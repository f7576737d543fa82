import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Node, ServiceAccount } from '@flotilla/api/core';
import { type Client, createClient } from '@flotilla/runtime';
import { z } from 'zod';
import { ADMIN, type ApiUser, createCredentials, renderKubeconfig } from '../api-server/credentials.ts';
import { PackagesMissingError } from '../errors.ts';
import { type CommandOptions, runCommand } from '../processes/command.ts';
import { waitUntilReady } from '../processes/readiness.ts';
import { removeClusterCgroups } from '../runs/cgroups.ts';
import { registerStop } from '../runs/exit-cleanup.ts';
import { createRunFolder, currentRun, removeRunFolder } from '../runs/run.ts';
import { missingPrograms, NODE_PACKAGES, type RuntimeName } from '../toolchain/debian-packages.ts';
import type { Log } from '../toolchain/go-build.ts';
import type { ToolName } from '../toolchain/tool-sets.ts';
import { ensureTools, type Tools } from '../toolchain/tools.ts';
import { createServerCertificate } from './certificate.ts';
import { containerdRuntime } from './containerd.ts';
import { crioRuntime } from './crio.ts';
import { type ClusterNetwork, connectNode } from './network.ts';
import { createNodeSpace, type NodeSpace } from './node-space.ts';
import { ensurePauseProgram } from './pause-image.ts';
import { type PlacedMirror, placeMirror, type RegistryMirror } from './registries.ts';
import { type NodeRuntime, outside, type RuntimeNode, type StoredImage } from './runtime.ts';
import { RuntimeProcess } from './runtime-process.ts';
import { API_SERVER_PORT, nodeUser, startParts, tokenOf } from './start-parts.ts';

/** How a cluster is started. */
export interface ClusterOptions {
  /** Name of the cluster and of its one node. */
  readonly name: string;
  /** Container runtime of the node; default `containerd`. */
  readonly runtime?: RuntimeName;
  /** Rate of the wide area link, both ways, as `tc` writes it: `20mbit`. Default: unlimited. */
  readonly rate?: string;
  /** Registries the node reaches at other places than their names say. */
  readonly registries?: readonly RegistryMirror[];
  /** PEM of authorities in the node's trust bundle, besides those of the machine. */
  readonly trustedAuthorities?: readonly string[];
  /** Proxy that the runtime goes through to registries; default: none, whatever this program's environment says. */
  readonly proxy?: NodeProxy;
  /** Users besides `admin`; RBAC is on. */
  readonly users?: readonly ApiUser[];
  /** Lines for the node's `/etc/hosts`, seen by it and by pods on the host network: name → address. */
  readonly hosts?: Readonly<Record<string, string>>;
  /** Network of the pods; default `10.88.INDEX.0/24`. */
  readonly podCidr?: string;
  /** Further kube-apiserver flags. */
  readonly apiServerFlags?: readonly string[];
  /** Progress of tool builds; default: standard error. */
  readonly log?: Log;
}

/** Proxy of a node's runtime. */
export interface NodeProxy {
  /** A function gets the address of this machine as seen from the cluster. */
  readonly url: string | ((gatewayAddress: string) => string);
  /** Hosts, domains and CIDRs that are reached without it. */
  readonly noProxy?: readonly string[];
}

/** A whole Kubernetes cluster of one node in namespaces of its own. */
export interface Cluster extends AsyncDisposable {
  readonly name: string;
  readonly dir: string;
  /** Path of the admin's kubeconfig, over the administration link: works also while the wide area link is cut. */
  readonly kubeconfig: string;
  /** Path of a kubeconfig for a user; `over` says which link it takes (default `admin`; other clusters need `wan`). */
  kubeconfigFor(user: string, over?: 'admin' | 'wan'): Promise<string>;
  /** Client as admin over the administration link; ended with the cluster. */
  client(): Client;
  /** API server on the wide area link, for other clusters and their pods. */
  readonly url: string;
  /** PEM of the API server's certificate authority. */
  readonly certificateAuthority: string;
  /** Node on the wide area link. */
  readonly address: string;
  /** This machine on the wide area link, as seen from inside. */
  readonly gatewayAddress: string;
  readonly runtime: RuntimeName;
  /** The runtime's socket as the node sees it. */
  readonly nodeSocket: string;
  /** The runtime's socket from outside. */
  readonly runtimeSocket: string;
  /** Milliseconds from nothing to a Ready node, tool builds not counted. */
  readonly startedInMs: number;
  /** Tells the runtime of a further registry, by a restart where it needs one; holds at the next pull. */
  addRegistry(mirror: RegistryMirror): Promise<void>;
  /** Ends the runtime, does what is to be done meanwhile, and starts it again; resolves when it answers. Pods go on. */
  restartRuntime(meanwhile?: () => Promise<void>): Promise<void>;
  /** Shapes the wide area link, or takes the limit off. */
  setRate(rate: string | undefined): Promise<void>;
  cutLink(): Promise<void>;
  restoreLink(): Promise<void>;
  /** Runs kubectl as admin; returns its output. Throws CommandError. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Runs a command on the node, in its namespaces. */
  run(program: string, args: readonly string[], options?: CommandOptions): Promise<string>;
  /** What the runtime holds. */
  images(): Promise<StoredImage[]>;
  stop(): Promise<void>;
}

const TOOLS: readonly ToolName[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
];

const RUNTIMES: Readonly<Record<RuntimeName, (node: RuntimeNode) => NodeRuntime>> = { containerd: containerdRuntime, crio: crioRuntime };
const RUNTIME_TOOLS: Readonly<Record<RuntimeName, readonly ToolName[]>> = { containerd: [], crio: ['crio', 'pinns', 'import-image'] };

/** Why this process cannot start clusters; undefined when it can. */
export function clusterObstacle(): string | undefined {
  if (process.platform !== 'linux') return `whole clusters need Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'whole clusters need root (namespaces, mounts, a container runtime)';
  return undefined;
}

/**
 * Starts a whole cluster as root on Linux, in about 5 s: etcd, API server, controllers, scheduler, a container runtime, kubelet,
 * kube-proxy and a Ready node. Whatever way this process ends, everything inside ends with it. Throws PackagesMissingError,
 * ToolsUnavailableError or ServerStartError, and leaves nothing behind then.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const obstacle = clusterObstacle();
  if (obstacle) throw new PackagesMissingError(obstacle);
  const runtime = options.runtime ?? 'containerd';
  const missing = await missingPrograms(NODE_PACKAGES[runtime]);
  if (missing.length > 0) throw new PackagesMissingError(`a node needs ${missing.join(', ')}: run \`npm run setup\` as root first`);
  const log = options.log ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const tools = await ensureTools([...TOOLS, ...RUNTIME_TOOLS[runtime]], { log });
  const cluster = new RunningCluster(options, tools, await createRunFolder(options.name));
  try {
    await cluster.start(await ensurePauseProgram(log));
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

class RunningCluster implements Cluster {
  readonly name: string;
  readonly dir: string;
  kubeconfig = '';
  certificateAuthority = '';
  startedInMs = 0;
  readonly #options: ClusterOptions;
  readonly #tools: Tools;
  readonly #credentials;
  readonly #clients = new Set<Client>();
  readonly #mirrors: PlacedMirror[] = [];
  readonly stop = registerStop(() => this.#end());
  #space: NodeSpace | undefined;
  #network: ClusterNetwork | undefined;
  #runtime: { node: NodeRuntime; process: RuntimeProcess } | undefined;

  constructor(options: ClusterOptions, tools: Tools, dir: string) {
    this.name = options.name;
    this.#options = options;
    this.#tools = tools;
    this.dir = dir;
    this.#credentials = createCredentials([nodeUser(options.name), ...(options.users ?? [])]);
  }

  get address(): string {
    return this.#net.address;
  }

  get gatewayAddress(): string {
    return this.#net.gatewayAddress;
  }

  get url(): string {
    return `https://${this.address}:${API_SERVER_PORT}`;
  }

  get runtime(): RuntimeName {
    return this.#options.runtime ?? 'containerd';
  }

  get nodeSocket(): string {
    return this.#node.node.socket;
  }

  get runtimeSocket(): string {
    return outside(this.dir, this.nodeSocket);
  }

  async start(pauseProgram: string): Promise<void> {
    const start = performance.now();
    const { name, dir } = this;
    const run = await currentRun();
    const hosts = { localhost: '127.0.0.1', [name]: '127.0.1.1', ...this.#options.hosts };
    const etc = { runtime: this.runtime, hosts, trustedAuthorities: this.#options.trustedAuthorities ?? [] };
    const space = await createNodeSpace(dir, pauseProgram, etc);
    this.#space = space;
    const network = await connectNode(space, run.id);
    this.#network = network;
    const env = proxyEnvironment(this.#options.proxy, network.gatewayAddress);
    const runtime = RUNTIMES[this.runtime]({ dir, space, tools: this.#tools, env });
    this.#mirrors.push(...(this.#options.registries ?? []).map((mirror) => placeMirror(mirror, network.gatewayAddress)));
    await runtime.setRegistries(this.#mirrors);
    this.#runtime = { node: runtime, process: new RuntimeProcess(runtime, dir) };
    const certificate = await createServerCertificate(dir, [network.address, network.adminAddress, '127.0.0.1', '10.96.0.1']);
    this.certificateAuthority = certificate.pem;
    this.kubeconfig = await this.kubeconfigFor(ADMIN);
    await startParts({
      name,
      dir,
      space,
      network,
      certificate,
      runtime,
      runtimeProcess: this.#runtime.process,
      pauseProgram,
      tools: this.#tools,
      credentials: this.#credentials,
      podCidr: this.#options.podCidr ?? `10.88.${network.index}.0/24`,
      apiServerFlags: this.#options.apiServerFlags ?? [],
    });
    if (this.#options.rate) await this.setRate(this.#options.rate);
    await waitForNode(this.client(), name);
    this.startedInMs = Math.round(performance.now() - start);
  }

  async kubeconfigFor(user: string, over: 'admin' | 'wan' = 'admin'): Promise<string> {
    const path = join(this.dir, `${user.replaceAll(/[^\w.-]/g, '_')}-${over}.kubeconfig`);
    const server = over === 'wan' ? this.url : `https://${this.#net.adminAddress}:${API_SERVER_PORT}`;
    const token = tokenOf({ credentials: this.#credentials }, user);
    await writeFile(path, renderKubeconfig({ server, certificateAuthority: this.certificateAuthority, user, token, name: this.name }), {
      mode: 0o600,
    });
    return path;
  }

  client(): Client {
    const client = createClient({ kubeconfigPath: this.kubeconfig });
    this.#clients.add(client);
    return client;
  }

  async addRegistry(mirror: RegistryMirror): Promise<void> {
    this.#mirrors.push(placeMirror(mirror, this.gatewayAddress));
    await this.#node.node.setRegistries(this.#mirrors);
    if (this.#node.node.readsRegistriesAtStart) await this.restartRuntime();
  }

  async restartRuntime(meanwhile?: () => Promise<void>): Promise<void> {
    const { process } = this.#node;
    await process.stop();
    await meanwhile?.();
    await process.start();
    await process.untilReady();
  }

  setRate(rate: string | undefined): Promise<void> {
    return this.#net.setRate(rate);
  }

  cutLink(): Promise<void> {
    return this.#net.cut();
  }

  restoreLink(): Promise<void> {
    return this.#net.restore();
  }

  kubectl(args: readonly string[], options?: CommandOptions): Promise<string> {
    return runCommand(this.#tools.path('kubectl'), ['--kubeconfig', this.kubeconfig, ...args], options);
  }

  run(program: string, args: readonly string[], options?: CommandOptions): Promise<string> {
    if (!this.#space) throw new TypeError(`cluster ${this.name} does not run`);
    return this.#space.run(program, args, options);
  }

  images(): Promise<StoredImage[]> {
    return this.#node.node.images();
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
    this.#clients.clear();
    await this.#space?.stop();
    await this.#network?.remove();
    await removeClusterCgroups(this.dir);
    await removeRunFolder(this.dir);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  get #node(): { node: NodeRuntime; process: RuntimeProcess } {
    if (!this.#runtime) throw new TypeError(`cluster ${this.name} does not run`);
    return this.#runtime;
  }

  get #net(): ClusterNetwork {
    if (!this.#network) throw new TypeError(`cluster ${this.name} does not run`);
    return this.#network;
  }
}

/** Variables of a runtime; empty ones keep those of this program's environment out. */
function proxyEnvironment(proxy: NodeProxy | undefined, gatewayAddress: string): Record<string, string> {
  const url = typeof proxy?.url === 'function' ? proxy.url(gatewayAddress) : (proxy?.url ?? '');
  const values = { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: proxy?.noProxy?.join(',') ?? '' };
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => [
      [name, value],
      [name.toLowerCase(), value],
    ]),
  );
}

const Conditions = z.looseObject({
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) }),
});

/** Ready, and the default service account there: from then on a pod can be created. */
async function waitForNode(client: Client, name: string): Promise<void> {
  await waitUntilReady({
    what: `node ${name}`,
    processes: [],
    intervalMs: 100,
    async check() {
      const node = Conditions.safeParse(await client.get(Node, { name }));
      const isReady = node.data?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
      return Boolean(isReady && (await client.get(ServiceAccount, { namespace: 'default', name: 'default' })));
    },
  });
}
