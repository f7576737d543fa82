import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandOptions, currentRun } from '@flotilla/control-plane/processes';
import { type Cluster, type ClusterOptions, startCluster, startRegistry } from '@flotilla/control-plane/servers';
import { startComponentPods } from './component-pods.ts';
import { type Fleet, type FleetOptions, type HubSite, mirrorConfig, REGISTRY_NAME, type Site, type SpokeSite } from './fleet.ts';

/** A fleet of whole clusters, with the clusters themselves at hand. */
export interface RealFleet extends Fleet {
  /** By name: `hub`, `spoke-1`, … */
  readonly clusters: ReadonlyMap<string, Cluster>;
}

/** Whether a fleet is of whole clusters. */
export const isRealFleet = (fleet: Fleet): fleet is RealFleet => 'clusters' in fleet;

/** How whole clusters are started. */
export interface RealFleetOptions extends FleetOptions {
  /** What the spokes' nodes are; default: what a cluster has by itself. */
  readonly spokeNodes?: Pick<ClusterOptions, 'runtime' | 'proxy' | 'trustedAuthorities' | 'nodes'>;
  /** Further nodes of one spoke, by its name. */
  readonly furtherNodes?: Readonly<Record<string, NonNullable<ClusterOptions['nodes']>>>;
}

/**
 * Whole clusters on this machine, each in namespaces of its own, and a registry on the hub's side. Needs root on Linux.
 * Throws as startCluster does, and leaves nothing behind then.
 */
export async function startRealFleet({
  spokes,
  bystander,
  say,
  signal,
  spokeNodes,
  furtherNodes = {},
}: RealFleetOptions): Promise<RealFleet> {
  const stack = new AsyncDisposableStack();
  try {
    const dir = join((await currentRun()).dir, 'story');
    await mkdir(dir, { recursive: true });
    const registry = stack.use(await startRegistry({ host: '0.0.0.0', log: say }));
    const names = Array.from({ length: spokes + (bystander ? 1 : 0) }, (_, i) => `spoke-${i + 1}`);
    const wanted = names.map((name) => ({ ...spokeNodes, ...(furtherNodes[name] && { nodes: furtherNodes[name] }), name }));
    const started = await startAll([{ name: 'hub' }, ...wanted], stack, say);
    const [hub, ...others] = started;
    if (!hub) throw new TypeError('a fleet without a hub');
    // One address for everyone: spokes reach the hub's side of the machine over their own link.
    const address = `${hub.gatewayAddress}:${registry.port}`;
    for (const cluster of started) await cluster.addRegistry({ host: REGISTRY_NAME, endpoint: `http://${address}` });
    const sites = others.map((cluster) => spokeSite(cluster, signal));
    return {
      description: `whole Kubernetes clusters: ${started.map(({ name }) => name).join(', ')}, each a kubelet and a container runtime in namespaces of its own`,
      clusters: new Map(started.map((cluster) => [cluster.name, cluster])),
      hub: hubSite(hub, signal),
      spokes: sites.slice(0, spokes),
      bystander: sites[spokes],
      registry,
      pushHost: `127.0.0.1:${registry.port}`,
      registryName: REGISTRY_NAME,
      registryConfig: mirrorConfig(address),
      dir,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** All at once; when one fails, those that came up are ended too. */
async function startAll(wanted: readonly ClusterOptions[], stack: AsyncDisposableStack, say: (line: string) => void): Promise<Cluster[]> {
  const results = await Promise.allSettled(wanted.map((options) => startCluster({ ...options, log: say })));
  // A stack ends one after the other; clusters can end side by side.
  const clusters = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  stack.defer(async () => void (await Promise.all(clusters.map((cluster) => cluster.stop()))));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return clusters;
}

function site(cluster: Cluster, signal: AbortSignal): Site {
  return {
    name: cluster.name,
    kubeconfig: cluster.kubeconfig,
    client: cluster.client(),
    kubectl: (args, options?: CommandOptions) => cluster.kubectl(args, { signal, ...options }),
  };
}

const hubSite = (cluster: Cluster, signal: AbortSignal): HubSite => ({
  ...site(cluster, signal),
  url: cluster.url,
});

function spokeSite(cluster: Cluster, signal: AbortSignal): SpokeSite {
  const base = site(cluster, signal);
  return {
    ...base,
    nodes: [cluster.name, ...cluster.nodes.map(({ name }) => name)],
    setRate: (rate) => cluster.setRate(rate),
    cutLink: () => cluster.cutLink(),
    restoreLink: () => cluster.restoreLink(),
    startImages: (images, withinMs, node) => startComponentPods(base.client, images, { withinMs, signal, node }),
  };
}
