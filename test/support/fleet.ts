import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandOptions, currentRun } from '@flotilla/control-plane/processes';
import { type Cluster, type ClusterOptions, type Registry, startCluster, startRegistry } from '@flotilla/control-plane/servers';
import type { Client } from '@flotilla/runtime';
import { type ComponentImage, type Started, startComponentPods } from './component-pods.ts';

/** One cluster, as its administrator has it. */
export interface Site {
  readonly name: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly client: Client;
  /** Runs kubectl as administrator and returns its output. Throws CommandError. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
}

/** The hub: also how agents on other clusters reach it. Its kubeconfig has the authority of that address. */
interface HubSite extends Site {
  /** API server as spokes reach it. */
  readonly url: string;
}

/** A spoke, with the link to it in our hands. */
export interface SpokeSite extends Site {
  /** Names of its nodes. */
  readonly nodes: readonly string[];
  /** Shapes the link, or takes the limit off. */
  setRate(rate: string | undefined): Promise<void>;
  cutLink(): Promise<void>;
  restoreLink(): Promise<void>;
  /** Starts every image and waits until all are up, or `withinMs` are over; what was started is removed again. On that node, or where the scheduler wants. */
  startImages(images: readonly ComponentImage[], withinMs: number, node?: string): Promise<Started>;
}

/** Everything the story happens on. Ended by `await using`, or by the clean-up of this program. */
export interface Fleet extends AsyncDisposable {
  /** One sentence for the user: what this is made of. */
  readonly description: string;
  /** By name: `hub`, `spoke-1`, … */
  readonly clusters: ReadonlyMap<string, Cluster>;
  readonly hub: HubSite;
  /** Spokes that get registered. */
  readonly spokes: readonly SpokeSite[];
  /** A spoke that nobody registers: what an upgrade meets without pre-caching. */
  readonly bystander: SpokeSite | undefined;
  readonly registry: Registry;
  /** `host:port` of the registry for this program. */
  readonly pushHost: string;
  /** Host of the registry in every image's name; nodes know where it is. */
  readonly registryName: string;
  /** The puller's `REGISTRY_CONFIG`: where that name is, for whoever asks the registry without the node's runtime. */
  readonly registryConfig: string;
  /** Folder for files of the story; gone with the program. */
  readonly dir: string;
}

/** Spokes with the one that nobody registers, if there is one. */
export const allSpokes = ({ spokes, bystander }: Pick<Fleet, 'spokes' | 'bystander'>): readonly SpokeSite[] =>
  bystander ? [...spokes, bystander] : spokes;

/** How a fleet is started. */
export interface FleetOptions {
  readonly spokes: number;
  readonly bystander: boolean;
  readonly say: (line: string) => void;
  /** Ends commands that run when the program is interrupted. */
  readonly signal: AbortSignal;
  /** Runtime, proxy and authorities of the spokes' nodes; default: those that a cluster has by itself. */
  readonly spokeNodes?: Pick<ClusterOptions, 'runtime' | 'proxy' | 'trustedAuthorities' | 'nodes'>;
  /** Further nodes of one spoke, by its name. */
  readonly furtherNodes?: Readonly<Record<string, NonNullable<ClusterOptions['nodes']>>>;
}

/** Name of the registry; it resolves nowhere, nodes have a mirror entry. */
export const REGISTRY_NAME = 'registry.flotilla.test';

/** Places of the registry for programs that ask it themselves. */
const mirrorConfig = (address: string): string => JSON.stringify([{ source: REGISTRY_NAME, mirrors: [address], insecure: true }]);

/**
 * Whole clusters on this machine, each in namespaces of its own, and a registry on the hub's side. Needs root on Linux.
 * Throws as startCluster does, and leaves nothing behind then.
 */
export async function startFleet({ spokes, bystander, say, signal, spokeNodes, furtherNodes = {} }: FleetOptions): Promise<Fleet> {
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
