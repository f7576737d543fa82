import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Node, ServiceAccount } from '@flotilla/api/core';
import { type Client, createClient } from '@flotilla/runtime';
import { z } from 'zod';
import { removeClusterCgroups } from '../../processes/cgroups.ts';
import { type CommandOptions, runCommand } from '../../processes/command.ts';
import { registerStop } from '../../processes/exit-cleanup.ts';
import { waitUntilReady } from '../../processes/readiness.ts';
import { currentRun, removeRunFolder } from '../../processes/run.ts';
import type { ServerProcess } from '../../processes/server-process.ts';
import type { RuntimeName } from '../../toolchain/debian-packages.ts';
import type { Tools } from '../../toolchain/tools.ts';
import { ADMIN, createCredentials, renderKubeconfig } from '../api-server/credentials.ts';
import { createServerCertificate } from './certificate.ts';
import type { Cluster, ClusterOptions } from './cluster.ts';
import { ExtraNode, RUNTIMES } from './extra-node.ts';
import type { KubeletProcess } from './kubelet-process.ts';
import { lanGateway, openLan } from './lan.ts';
import { type ClusterNetwork, connectNode } from './network.ts';
import { createNodeSpace, type NodeSpace } from './node-space.ts';
import { type PlacedMirror, placeMirror, type RegistryMirror } from './registries.ts';
import { type NodeRuntime, outside, proxyEnvironment, type StoredImage } from './runtime.ts';
import { RuntimeProcess } from './runtime-process.ts';
import { API_SERVER_PORT, nodeUser, startParts, tokenOf } from './start-parts.ts';

/** A cluster and what it holds on this machine: `start` once, `stop` whatever became of that. */
export class RunningCluster implements Cluster {
  readonly name: string;
  readonly dir: string;
  kubeconfig = '';
  certificateAuthority = '';
  startedInMs = 0;
  readonly #options: ClusterOptions;
  readonly #tools: Tools;
  readonly #credentials;
  readonly #clients = new Set<Client>();
  readonly nodes: ExtraNode[] = [];
  readonly #mirrors: PlacedMirror[] = [];
  readonly stop = registerStop(() => this.#end());
  #space: NodeSpace | undefined;
  #network: ClusterNetwork | undefined;
  #runtime: { node: NodeRuntime; process: RuntimeProcess } | undefined;
  #kubelet: KubeletProcess | undefined;

  constructor(options: ClusterOptions, tools: Tools, dir: string) {
    this.name = options.name;
    this.#options = options;
    this.#tools = tools;
    this.dir = dir;
    this.#credentials = createCredentials([
      nodeUser(options.name),
      ...(options.nodes ?? []).map((node) => nodeUser(node.name)),
      ...(options.users ?? []),
    ]);
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
    const certificate = await createServerCertificate(dir, [
      network.address,
      network.adminAddress,
      lanGateway(network.index),
      '127.0.0.1',
      '10.96.0.1',
    ]);
    this.certificateAuthority = certificate.pem;
    this.kubeconfig = await this.kubeconfigFor(ADMIN);
    const further = this.#options.nodes ?? [];
    const lan = further.length > 0 ? await openLan(space, network.index) : undefined;
    const { kubelet, processes } = await startParts({
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
      podCidr: lan?.podCidr ?? this.#options.podCidr ?? `10.88.${network.index}.0/24`,
      isRouted: lan !== undefined,
      apiServerFlags: this.#options.apiServerFlags ?? [],
    });
    this.#kubelet = kubelet;
    if (lan) {
      const { certificateAuthority } = this;
      const { trustedAuthorities } = etc;
      const common = {
        hosts: this.#options.hosts ?? {},
        trustedAuthorities,
        lan,
        env,
        certificateAuthority,
        pauseProgram,
        tools: this.#tools,
        mirrors: this.#mirrors,
      };
      const tokenFor = (user: string): string => tokenOf({ credentials: this.#credentials }, user);
      for (const [index, node] of further.entries())
        this.nodes.push(
          await ExtraNode.start({ ...common, name: node.name, runtime: node.runtime ?? 'containerd', place: index + 1, tokenOf: tokenFor }),
        );
    }
    if (this.#options.rate) await this.setRate(this.#options.rate);
    for (const each of [name, ...further.map((node) => node.name)]) await waitForNode(this.client(), each, processes);
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
    for (const node of this.nodes) await node.setRegistries(this.#mirrors);
  }

  async restartRuntime(meanwhile?: () => Promise<void>): Promise<void> {
    const { process } = this.#node;
    await process.stop();
    await meanwhile?.();
    await process.start();
    await process.untilReady();
  }

  async restartKubelet(settings?: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#kubelet?.stop();
    await this.#kubelet?.start(settings);
  }

  setRate(rate: string | undefined): Promise<void> {
    return this.#net.setRate(rate);
  }

  queuedBytes(): Promise<number> {
    return this.#net.queuedBytes();
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
    return this.#inside.run(program, args, options);
  }

  startServer(name: string, program: string, args: readonly string[]): Promise<ServerProcess> {
    return this.#inside.start(name, program, args);
  }

  images(): Promise<StoredImage[]> {
    return this.#node.node.images();
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
    this.#clients.clear();
    for (const node of this.nodes.splice(0)) await node.stop();
    await this.#space?.stop();
    await this.#network?.remove();
    await removeClusterCgroups(this.dir);
    await removeRunFolder(this.dir);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  get #inside(): NodeSpace {
    if (!this.#space) throw new TypeError(`cluster ${this.name} does not run`);
    return this.#space;
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

const Conditions = z.looseObject({
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) }),
});

/**
 * Ready, and the default service account there: from then on a pod can be created. Throws ServerStartError when one of `processes`
 * ended meanwhile: a node without kube-proxy is Ready, and its pods reach nothing.
 */
async function waitForNode(client: Client, name: string, processes: readonly ServerProcess[]): Promise<void> {
  await waitUntilReady({
    what: `node ${name}`,
    processes,
    intervalMs: 100,
    async check() {
      const node = Conditions.safeParse(await client.get(Node, { name }));
      const isReady = node.data?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
      return Boolean(isReady && (await client.get(ServiceAccount, { namespace: 'default', name: 'default' })));
    },
  });
}
