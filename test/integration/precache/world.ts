import { ClusterGroupUpgrade, type PrecacheState, SpokeName } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { saidOf } from '@flotilla/rollout';
import { WatchCache } from '@flotilla/runtime';
import { HubWorld, type Surroundings, startSurroundings, upgradeRef, type WorldOptions } from '../world.ts';

export { PLATFORM, PULLER, spokeNames, TRANSPORTS, type WorldOptions } from '../world.ts';

/** A world whose upgrades pre-cache and are not enabled. */
export class World extends HubWorld {
  readonly #seen = new Map<string, PrecacheState[]>();
  readonly #told = new Map<string, string[]>();
  readonly #stop = new AbortController();

  private constructor(parts: Surroundings) {
    super(parts);
    this.#record();
  }

  static async start(options: WorldOptions): Promise<World> {
    return new World(await startSurroundings(options)).begin(options);
  }

  override async stop(): Promise<void> {
    this.#stop.abort();
    await super.stop();
  }

  /** Creates an upgrade that pre-caches `clusters` as PreCachingConfig `config` says. All names may be `namespace/name`; else it is `default`. */
  async upgrade(
    name: string,
    clusters: readonly string[] | undefined,
    spec: Record<string, unknown> = {},
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<ClusterGroupUpgrade> {
    return this.client.create(ClusterGroupUpgrade, {
      metadata: { ...upgradeRef(name), annotations },
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

  async states(name: string): Promise<Record<string, PrecacheState>> {
    return (await this.get(name))?.status?.precaching?.status ?? {};
  }

  /** The sentence that the status says of a cluster. */
  async message(name: string, cluster: string): Promise<string | undefined> {
    const message = (await this.get(name))?.status?.precaching?.messages?.[cluster];
    return message === undefined ? undefined : saidOf(message);
  }

  /** Waits until these clusters are in these states. */
  async untilStates(name: string, want: Readonly<Record<string, PrecacheState>>, timeoutMs = 60_000): Promise<void> {
    let last: Readonly<Record<string, PrecacheState>> = {};
    const ask = async () => {
      last = await this.states(name);
      return Object.entries(want).every(([cluster, state]) => last[cluster] === state);
    };
    await eventually(ask, () => `${name}: wanted ${JSON.stringify(want)}, got ${JSON.stringify(last)}`, timeoutMs);
  }

  /** Waits until a cluster is under way: which states are seen is a matter of speed. */
  async untilBegun(name: string): Promise<void> {
    const hasBegun = async () => Object.values(await this.states(name)).some((state) => state !== 'NotStarted');
    await eventually(hasBegun, `${name} to begin`, 60_000);
  }

  /** The states a cluster was seen in by a watch of the upgrade, each once in a row. */
  seen(name: string, cluster: string): readonly PrecacheState[] {
    return this.#seen.get(`${name}/${cluster}`) ?? [];
  }

  /** Waits until a watch of the upgrade has seen such a message about a cluster: it may be gone again by then. */
  async untilTold(name: string, cluster: string, message: RegExp, timeoutMs = 60_000): Promise<void> {
    const told = () => this.#told.get(`${name}/${cluster}`) ?? [];
    await eventually(
      () => told().some((text) => message.test(text)),
      () => `${name}: ${cluster} should be told ${message}, was told ${JSON.stringify(told())}`,
      timeoutMs,
    );
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

  /** Names of the objects of a kind that pre-caching has on a spoke. */
  objectsOn(cluster: string, kind: string): string[] {
    const store = this.spokes.store(cluster);
    const served = store.kinds.find((each) => each.kind === kind);
    const names = [SpokeName.nodes, SpokeName.nodeAccount, SpokeName.serviceAccount];
    return served ? names.filter((name) => store.read(served, SpokeName.namespace, name) !== undefined) : [];
  }

  #record(): void {
    const cache = new WatchCache(this.client, ClusterGroupUpgrade, {});
    cache.subscribe(({ type, object }) => {
      if (type === 'deleted') return;
      const { status = {}, messages = {} } = object.status?.precaching ?? {};
      remember(this.#seen, object, status);
      remember(this.#told, object, messages);
    });
    cache.start(this.#stop.signal);
  }
}

/** Adds what is said of clusters to what was said before, each once in a row. */
function remember<T>(all: Map<string, T[]>, { metadata }: ClusterGroupUpgrade, said: Readonly<Record<string, T>>): void {
  for (const [cluster, value] of Object.entries(said)) {
    const key = `${metadata.name}/${cluster}`;
    const values = all.get(key) ?? [];
    if (values.at(-1) !== value) all.set(key, [...values, value]);
  }
}
