import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeClusterCgroups } from '../../processes/cgroups.ts';
import { createRunFolder, removeRunFolder } from '../../processes/run.ts';
import type { RuntimeName } from '../../toolchain/debian-packages.ts';
import type { Tools } from '../../toolchain/tools.ts';
import { ADMIN, renderKubeconfig } from '../api-server/credentials.ts';
import type { ClusterNode } from './cluster.ts';
import { containerdRuntime, newContainerdRuntime } from './containerd.ts';
import { crioRuntime } from './crio.ts';
import { joinLan, type Lan } from './lan.ts';
import { createNodeSpace, type NodeSpace } from './node-space.ts';
import type { PlacedMirror } from './registries.ts';
import { type NodeRuntime, outside, type RuntimeNode } from './runtime.ts';
import { RuntimeProcess } from './runtime-process.ts';
import { API_SERVER_PORT, configureNode, fillRuntime, nodeUser, startNodeParts } from './start-parts.ts';

/** Runtimes of nodes, by name. */
export const RUNTIMES: Readonly<Record<RuntimeName, (node: RuntimeNode) => NodeRuntime>> = {
  containerd: containerdRuntime,
  'containerd-2': newContainerdRuntime,
  crio: crioRuntime,
};

/** Parts from which a further node is started. */
interface ExtraNodeParts {
  readonly name: string;
  /** Place among the nodes of its cluster, 1 for the first further one. */
  readonly place: number;
  readonly runtime: RuntimeName;
  readonly lan: Lan;
  readonly tools: Tools;
  readonly pauseProgram: string;
  readonly mirrors: readonly PlacedMirror[];
  readonly hosts: Readonly<Record<string, string>>;
  readonly trustedAuthorities: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly certificateAuthority: string;
  readonly tokenOf: (user: string) => string;
}

/** A further node of a cluster, in namespaces of its own: it reaches the world through the first one, whose link is the cluster's. */
export class ExtraNode implements ClusterNode {
  readonly name: string;
  readonly #parts: ExtraNodeParts;
  readonly #dir: string;
  #started: StartedNode;

  private constructor(parts: ExtraNodeParts, dir: string, started: StartedNode) {
    this.name = parts.name;
    this.#parts = parts;
    this.#dir = dir;
    this.#started = started;
  }

  static async start(parts: ExtraNodeParts): Promise<ExtraNode> {
    const dir = await createRunFolder(parts.name);
    const node = new ExtraNode(parts, dir, await prepareNode(parts, dir));
    try {
      await startNode(parts, dir, node.#started);
      return node;
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  async cutPower(): Promise<void> {
    await this.#started.space.stop();
    await removeClusterCgroups(this.#dir);
    // Memory does not outlive the power.
    await rm(join(this.#dir, 'run'), { recursive: true });
  }

  async restorePower(): Promise<void> {
    this.#started = await prepareNode(this.#parts, this.#dir);
    await startNode(this.#parts, this.#dir, this.#started);
  }

  /** Tells the runtime of registries, by a restart where it needs one. */
  async setRegistries(mirrors: readonly PlacedMirror[]): Promise<void> {
    const { runtime, process } = this.#started;
    await runtime.setRegistries(mirrors);
    if (!runtime.readsRegistriesAtStart) return;
    await process.stop();
    await process.start();
    await process.untilReady();
  }

  get runtimeSocket(): string {
    return outside(this.#dir, this.#started.runtime.socket);
  }

  images(): ReturnType<NodeRuntime['images']> {
    return this.#started.runtime.images();
  }

  run(...args: Parameters<NodeSpace['run']>): ReturnType<NodeSpace['run']> {
    return this.#started.space.run(...args);
  }

  async stop(): Promise<void> {
    await this.#started.space.stop();
    await removeClusterCgroups(this.#dir);
    await removeRunFolder(this.#dir);
  }
}

/** A node between two cuts of its power. */
interface StartedNode {
  readonly space: NodeSpace;
  readonly runtime: NodeRuntime;
  readonly process: RuntimeProcess;
}

async function prepareNode(
  { name, runtime: kind, tools, pauseProgram, hosts, trustedAuthorities, env }: ExtraNodeParts,
  dir: string,
): Promise<StartedNode> {
  const etc = { runtime: kind, hosts: { localhost: '127.0.0.1', [name]: '127.0.1.1', ...hosts }, trustedAuthorities };
  const space = await createNodeSpace(dir, pauseProgram, etc);
  const runtime = RUNTIMES[kind]({ dir, space, tools, env });
  return { space, runtime, process: new RuntimeProcess(runtime, dir) };
}

async function startNode(
  { name, place, lan, tools, pauseProgram, mirrors, certificateAuthority, tokenOf }: ExtraNodeParts,
  dir: string,
  { space, runtime, process }: StartedNode,
): Promise<void> {
  const { address, podCidr } = await joinLan(lan, space, place);
  await configureNode({ dir, runtime, podCidr, isRouted: true });
  await runtime.setRegistries(mirrors);
  await process.start();
  await fillRuntime({ dir, pauseProgram, runtime, runtimeProcess: process });
  const kubeconfigOf = async (user: string): Promise<string> => {
    const path = join(dir, `${user.replaceAll(':', '-')}.kubeconfig`);
    const server = `https://${lan.gateway}:${API_SERVER_PORT}`;
    await writeFile(path, renderKubeconfig({ server, certificateAuthority, user, token: tokenOf(user) }), { mode: 0o600 });
    return path;
  };
  const kubeconfigs = { admin: await kubeconfigOf(ADMIN), kubelet: await kubeconfigOf(nodeUser(name).name) };
  await startNodeParts({ name, dir, space, tools, runtime, address, kubeconfigs });
}
