import { PackagesMissingError } from '../../errors.ts';
import { createRunFolder } from '../../processes/run.ts';
import { missingPrograms, NODE_PACKAGES, type RuntimeName } from '../../toolchain/debian-packages.ts';
import type { ToolName } from '../../toolchain/tool-sets.ts';
import { ensureTools } from '../../toolchain/tools.ts';
import type { Cluster, ClusterOptions } from './cluster.ts';
import { ensurePauseProgram } from './pause-image.ts';
import { RunningCluster } from './running-cluster.ts';

const TOOLS: readonly ToolName[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
];

const RUNTIME_TOOLS: Readonly<Record<RuntimeName, readonly ToolName[]>> = {
  containerd: [],
  'containerd-2': ['containerd', 'containerd-shim-runc-v2'],
  crio: ['crio', 'pinns', 'import-image'],
};

/** Reason for which this process cannot start clusters; undefined when it can. */
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
  const runtimes = new Set([runtime, ...(options.nodes ?? []).map((node) => node.runtime ?? runtime)]);
  const missing = await missingPrograms([...new Set([...runtimes].flatMap((each) => NODE_PACKAGES[each]))]);
  if (missing.length > 0) throw new PackagesMissingError(`a node needs ${missing.join(', ')}: run \`npm run setup\` as root first`);
  const log = options.log ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const tools = await ensureTools([...TOOLS, ...[...runtimes].flatMap((each) => RUNTIME_TOOLS[each])], { log });
  const cluster = new RunningCluster(options, tools, await createRunFolder(options.name));
  try {
    await cluster.start(await ensurePauseProgram(log));
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
