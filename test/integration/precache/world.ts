import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CLUSTER_AVAILABLE,
  ClusterGroupUpgrade,
  findCondition,
  type KubeObject,
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  PreCachingConfig,
  type PrecacheState,
  type Resource,
  SpokeName,
} from '@flotilla/api';
import {
  type ApiServer,
  type JobShape,
  registerSpokes,
  type SimulatedSpokes,
  startApiServer,
  startSimulatedSpokes,
} from '@flotilla/control-plane';
import { type Client, WatchCache } from '@flotilla/runtime';
import { applyCrds } from '../../fixtures/crds.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { type RunningProgram, startHub } from '../../fixtures/programs.ts';

/** What a world is made of. */
export interface WorldOptions {
  readonly spokes: readonly string[];
  /** Default: 3 s without jitter. */
  readonly job?: Partial<JobShape>;
  /** Arguments of the hub besides those every hub here gets. */
  readonly hubArgs?: readonly string[];
  readonly seed?: number;
  /** Start no hub. */
  readonly withoutHub?: boolean;
}

/** The hub's image of the puller in every world. */
export const PULLER = 'registry.test/image-puller:1';
/** The platform image that PreCachingConfig `config` names. */
export const PLATFORM = `registry.test/release@sha256:${'a'.repeat(64)}`;

const HUB_ARGS = ['--job-view-seconds', '1', '--progress-view-seconds', '1', '--precache-image', PULLER, '--log-level', 'debug'];

/** A real API server, simulated spokes in this process, and the hub as a process of its own. */
export class World {
  readonly server: ApiServer;
  readonly client: Client;
  readonly spokes: SimulatedSpokes;
  readonly dir: string;
  hub: RunningProgram | undefined;
  readonly #args: readonly string[];
  readonly #seen = new Map<string, PrecacheState[]>();
  readonly #stop = new AbortController();

  private constructor(parts: { server: ApiServer; client: Client; spokes: SimulatedSpokes; dir: string }, args: readonly string[]) {
    this.server = parts.server;
    this.client = parts.client;
    this.spokes = parts.spokes;
    this.dir = parts.dir;
    this.#args = args;
  }

  static async start(options: WorldOptions): Promise<World> {
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-precache-'));
    const server = await startApiServer();
    const client = await server.client();
    await applyCrds(client);
    await registerSpokes(client, options.spokes);
    await client.create(PreCachingConfig, {
      metadata: { name: 'config', namespace: 'default' },
      spec: { overrides: { platformImage: PLATFORM } },
    });
    const job = { seconds: 3, jitter: 0, startupMs: 500, progressMs: 1000, ...options.job };
    const spokes = await startSimulatedSpokes({ client, names: options.spokes, seed: options.seed ?? 1, job, namespaceDeletionMs: 500 });
    const world = new World({ server, client, spokes, dir }, [...HUB_ARGS, ...(options.hubArgs ?? [])]);
    world.#record();
    try {
      if (!options.withoutHub) await world.startHub();
      return world;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.hub?.stop();
    await this.spokes.stop();
    await this.server.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** Starts another hub; resolves when it leads, unless `standby`. */
  async startHub(
    options: { args?: readonly string[]; kubeconfig?: string; env?: Readonly<Record<string, string>>; standby?: boolean } = {},
  ): Promise<RunningProgram> {
    const hub = await startHub(
      options.kubeconfig ?? this.server.kubeconfig,
      this.dir,
      [...this.#args, ...(options.args ?? [])],
      options.env,
    );
    this.hub = hub;
    if (!options.standby) await eventually(async () => (await hub.output()).includes('Caches are filled'), 60_000, 'the hub to lead');
    return hub;
  }

  /** Creates an upgrade that pre-caches `clusters` as PreCachingConfig `config` says. All names may be `namespace/name`; else it is `default`. */
  async upgrade(name: string, clusters: readonly string[] | undefined, spec: Record<string, unknown> = {}): Promise<ClusterGroupUpgrade> {
    return this.client.create(ClusterGroupUpgrade, {
      metadata: refOf(name),
      spec: {
        preCaching: true,
        enable: false,
        preCachingConfigRef: { name: 'config' },
        ...(clusters && { clusters }),
        remediationStrategy: { maxConcurrency: 100, timeout: 240 },
        ...spec,
      },
    });
  }

  async get(name: string): Promise<ClusterGroupUpgrade | undefined> {
    return this.client.get(ClusterGroupUpgrade, refOf(name));
  }

  async delete(name: string): Promise<void> {
    await this.client.delete(ClusterGroupUpgrade, refOf(name));
  }

  async states(name: string): Promise<Record<string, PrecacheState>> {
    return (await this.get(name))?.status?.precaching?.status ?? {};
  }

  async message(name: string, cluster: string): Promise<string | undefined> {
    return (await this.get(name))?.status?.precaching?.messages?.[cluster];
  }

  /** `Status Reason: Message` of a condition. */
  async condition(name: string, type: string): Promise<string | undefined> {
    const condition = findCondition((await this.get(name))?.status?.conditions, type);
    return condition && `${condition.status} ${condition.reason}: ${condition.message}`;
  }

  /** Waits until these clusters are in these states. */
  async untilStates(name: string, want: Readonly<Record<string, PrecacheState>>, timeoutMs = 60_000): Promise<void> {
    let last: Readonly<Record<string, PrecacheState>> = {};
    const ask = async () => {
      last = await this.states(name);
      return Object.entries(want).every(([cluster, state]) => last[cluster] === state);
    };
    await eventually(ask, timeoutMs).catch((cause: unknown) => {
      throw new Error(`${name}: wanted ${JSON.stringify(want)}, got ${JSON.stringify(last)}`, { cause });
    });
  }

  /** Waits until a condition has this text. */
  async untilCondition(name: string, type: string, want: string | RegExp, timeoutMs = 60_000): Promise<void> {
    let last: string | undefined;
    const ask = async () => {
      last = await this.condition(name, type);
      return typeof want === 'string' ? last === want : last !== undefined && want.test(last);
    };
    await eventually(ask, timeoutMs).catch((cause: unknown) => {
      throw new Error(`${name}: condition ${type} should be ${want}, is ${last}`, { cause });
    });
  }

  /** The states a cluster was seen in by a watch of the upgrade, each once in a row. */
  seen(name: string, cluster: string): readonly PrecacheState[] {
    return this.#seen.get(`${name}/${cluster}`) ?? [];
  }

  /** Names of the actions and views in a cluster's namespace. */
  async hubObjects(cluster: string): Promise<string[]> {
    const list = async (kind: Resource) =>
      (await this.client.list(kind, { namespace: cluster })).items.map(({ metadata }: KubeObject) => metadata.name);
    return [...(await list(ManagedClusterAction)), ...(await list(ManagedClusterView))].sort();
  }

  /** Waits until there are none. */
  async untilClean(clusters: readonly string[]): Promise<void> {
    for (const cluster of clusters)
      await eventually(async () => (await this.hubObjects(cluster)).length === 0, 60_000, `the hub objects of ${cluster} to be gone`);
  }

  /** An object in the spoke's pre-cache namespace. */
  readOn(cluster: string, wanted: 'Job' | 'ConfigMap', name: string) {
    const store = this.spokes.store(cluster);
    const kind = store.kinds.find((served) => served.kind === wanted);
    return kind && store.read(kind, SpokeName.namespace, name);
  }

  /** The spoke's pre-cache namespace. */
  namespaceOn(cluster: string) {
    const store = this.spokes.store(cluster);
    const kind = store.kinds.find((served) => served.kind === 'Namespace' && served.group === '');
    if (!kind) throw new Error('spokes serve namespaces');
    return {
      exists: () => store.read(kind, undefined, SpokeName.namespace) !== undefined,
      put: () => store.put(kind, undefined, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SpokeName.namespace } }),
    };
  }

  /** Says in the ManagedCluster whether the spoke's agent is alive, and connects or disconnects it. */
  async setAvailable(cluster: string, available: boolean): Promise<void> {
    if (available) this.spokes.reconnect(cluster);
    else this.spokes.disconnect(cluster);
    const condition = {
      type: CLUSTER_AVAILABLE,
      status: available ? 'True' : 'Unknown',
      reason: 'Test',
      message: 'set by a test',
      lastTransitionTime: `${new Date().toISOString().slice(0, 19)}Z`,
    };
    await this.client.patch(
      ManagedCluster,
      { name: cluster },
      { status: { conditions: [condition] } },
      { type: 'merge', subresource: 'status' },
    );
  }

  #record(): void {
    const cache = new WatchCache(this.client, ClusterGroupUpgrade, {});
    cache.subscribe(({ type, object }) => {
      if (type === 'deleted') return;
      for (const [cluster, state] of Object.entries(object.status?.precaching?.status ?? {})) {
        const key = `${object.metadata.name}/${cluster}`;
        const states = this.#seen.get(key) ?? [];
        if (states.at(-1) !== state) this.#seen.set(key, [...states, state]);
      }
    });
    cache.start(this.#stop.signal);
  }
}

function refOf(name: string): { namespace: string; name: string } {
  const [first = '', second] = name.split('/');
  return second === undefined ? { namespace: 'default', name: first } : { namespace: first, name: second };
}

/** `spoke-1` to `spoke-n`, or with another prefix. */
export const spokeNames = (count: number, prefix = 'spoke'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
