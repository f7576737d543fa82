import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandOptions, currentRun, registerCleanup, runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, type Registry, startApiServer, startControllerManager, startRegistry } from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { type Fleet, type FleetOptions, type HubSite, mirrorConfig, REGISTRY_NAME, type SpokeSite } from '../../tools/src/fleets/fleet.ts';
import { startFromLayout } from './layout-images.ts';
import { PacedLink } from './paced-link.ts';
import { ProcessNode } from './process-node.ts';

/** Those that make pods of Deployments and Jobs and take away what was deleted. */
const CONTROLLERS = [
  'job-controller',
  'deployment-controller',
  'replicaset-controller',
  'namespace-controller',
  'garbage-collector-controller',
];

interface Parts extends FleetOptions {
  readonly dir: string;
  readonly registry: Registry;
  readonly stack: AsyncDisposableStack;
}

/**
 * API servers alone, each with a node that runs the pods of our programs as processes: no root, any system. Images go to an
 * OCI layout per spoke. Throws as startApiServer does, and leaves nothing behind then.
 */
export async function startApiOnlyFleet(options: FleetOptions): Promise<Fleet> {
  const stack = new AsyncDisposableStack();
  // An interrupt ends processes through the clean-up of this program, which knows nothing of this stack.
  const unregister = registerCleanup(() => stack.disposeAsync());
  stack.defer(unregister);
  try {
    const dir = join((await currentRun()).dir, 'story');
    await mkdir(dir, { recursive: true });
    const registry = stack.use(await startRegistry({ log: options.say }));
    const parts = { ...options, dir, registry, stack };
    const hub = await startHub(parts);
    const count = options.spokes + (options.bystander ? 1 : 0);
    const spokes: SpokeSite[] = [];
    for (let i = 1; i <= count; i += 1) spokes.push(await startSpoke(`spoke-${i}`, hub, parts));
    return {
      description: `API servers only: ${['hub', ...spokes.map(({ name }) => name)].join(', ')}; pods of our programs run as processes, others only wait for their images; stores are OCI layouts, links are relays`,
      hub,
      spokes: spokes.slice(0, options.spokes),
      bystander: spokes[options.spokes],
      registry,
      pushHost: addressOf(registry),
      registryName: REGISTRY_NAME,
      registryConfig: mirrorConfig(addressOf(registry)),
      dir,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function startHub(parts: Parts): Promise<HubSite> {
  const server = await startServer(parts);
  const site = await describeSite('hub', server, parts);
  await startNode('hub', server, site, parts, (text) => text);
  return { ...site, url: server.url };
}

async function startSpoke(name: string, hub: HubSite, parts: Parts): Promise<SpokeSite> {
  const link = parts.stack.use(new PacedLink());
  await link.start([new URL(hub.url).host, addressOf(parts.registry)]);
  const server = await startServer(parts);
  const site = await describeSite(name, server, parts);
  const storeDir = await startNode(name, server, site, parts, (text) => link.translate(text));
  const mirror = () => link.translate(addressOf(parts.registry));
  return {
    ...site,
    nodes: [name],
    setRate: async (rate) => link.setRate(rate),
    cutLink: async () => link.cut(),
    restoreLink: async () => link.restore(),
    startImages: (images, withinMs) => startFromLayout(images, { storeDir, mirror: mirror(), withinMs, signal: parts.signal }),
  };
}

const addressOf = ({ port }: Registry): string => `127.0.0.1:${port}`;

async function startServer({ stack, say }: Parts): Promise<ApiServer> {
  const server = stack.use(await startApiServer({ log: say }));
  stack.use(await startControllerManager(server, { controllers: CONTROLLERS, log: say }));
  return server;
}

async function describeSite(name: string, server: ApiServer, { signal }: Parts) {
  const tools = await ensureTools(['kubectl']);
  const { kubeconfig } = server;
  return {
    name,
    kubeconfig,
    client: await server.client(),
    kubectl: (args: readonly string[], options?: CommandOptions) =>
      runCommand(tools.path('kubectl'), ['--kubeconfig', kubeconfig, ...args], { signal, ...options }),
  };
}

type Site = Awaited<ReturnType<typeof describeSite>>;

/** Starts the node of a cluster; returns the folder of its image store. */
async function startNode(name: string, server: ApiServer, site: Site, parts: Parts, translate: (text: string) => string): Promise<string> {
  const dir = join(parts.dir, name);
  const storeDir = join(dir, 'store');
  const access = { url: server.url, certificateAuthority: await readAuthority(server) };
  const mirror = () => translate(addressOf(parts.registry));
  const node = new ProcessNode({ name, client: site.client, server: access, dir, storeDir, translate, mirror, say: parts.say });
  const stop = new AbortController();
  node.start(stop.signal);
  parts.stack.defer(async () => {
    stop.abort();
    await node.stop();
  });
  return storeDir;
}

/** The authority is part of the administrator's kubeconfig. */
async function readAuthority(server: ApiServer): Promise<string> {
  const tools = await ensureTools(['kubectl']);
  const path = 'jsonpath={.clusters[0].cluster.certificate-authority-data}';
  const text = await runCommand(tools.path('kubectl'), ['--kubeconfig', server.kubeconfig, 'config', 'view', '--raw', '-o', path]);
  return Buffer.from(text, 'base64').toString('utf8');
}
