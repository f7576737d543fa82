import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Condition, conditionTime, findCondition, type KubeObject, Label, type Resource } from '@flotilla/api';
import {
  CLUSTER_AVAILABLE,
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  NODE_PULLERS,
  PULLER_ACCOUNT,
} from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, fixOf, PreCachingConfig, type Reason, reasons } from '@flotilla/api/ran';
import { MemoryServer } from '@flotilla/control-plane/memory';
import { type ApiServer, type ApiServerOptions, startApiServer } from '@flotilla/control-plane/servers';
import {
  type JobShape,
  registerSpokes,
  type SimulatedSpokes,
  type SimulatedSpokesOptions,
  startSimulatedSpokes,
} from '@flotilla/control-plane/simulators';
import { eventually, SkippingClock } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { hubCrds } from '../fixtures/crds.ts';
import { type RunningProgram, startHub } from '../support/programs.ts';
import { embedHub, type TestHub } from './embedded-hub.ts';

/** What a world is made of. */
export interface WorldOptions {
  readonly spokes: readonly string[];
  /** Default: 3 s without jitter. */
  readonly job?: Partial<JobShape>;
  /** More of what the simulated spokes are made of. */
  readonly simulated?: Partial<SimulatedSpokesOptions>;
  /** Nodes of each spoke, which its agent counts; default one. */
  readonly nodes?: number;
  /** How the hub reaches its spokes; default: as it decides by itself. */
  readonly transport?: (typeof TRANSPORTS)[number];
  /** Arguments of the hub besides those every hub here gets. */
  readonly hubArgs?: readonly string[];
  readonly seed?: number;
  /** How the API server is started. */
  readonly apiServer?: ApiServerOptions;
  /** Start no hub. */
  readonly withoutHub?: boolean;
  /** Its hubs are processes of their own, which can be killed; default: they run in this one, by the world's clock. */
  readonly processes?: boolean;
  /** CRDs that are installed; default: the hub's. */
  readonly crds?: readonly unknown[];
  /** Its API server is in memory, and its time goes ten times as fast: where the fact is the hub's alone. Default: a real server. */
  readonly inMemory?: boolean;
}

/** What pre-caching does by one of them, it does by the other. */
export const TRANSPORTS = ['actions', 'work'] as const;
/** A test waits for no steady pace. */
const WORK_CADENCE = { statusSyncMs: 500, resyncMs: 60_000 };

/** Seconds of a world in memory in one of the machine's: the hub's patience begins at seconds, and a machine that is busy loses tenths. */
const SPEED = 10;

/** The hub's image of the puller in every world. */
export const PULLER = 'registry.test/image-puller:1';
/** The platform image that PreCachingConfig `config` names. */
export const PLATFORM = `registry.test/release@sha256:${'a'.repeat(64)}`;

const HUB_ARGS = ['--job-view-seconds', '1', '--progress-view-seconds', '1', '--precache-image', PULLER, '--log-level', 'debug'];

const transportArgs = ({ transport }: WorldOptions): string[] => (transport ? ['--transport', transport] : []);

/** What `startSurroundings` started. */
export interface Surroundings {
  readonly server: ApiServer | MemoryServer;
  readonly client: Client;
  readonly spokes: SimulatedSpokes;
  readonly clock: SkippingClock;
  readonly dir: string;
  readonly hubArgs: readonly string[];
  readonly processes: boolean;
}

/** Everything but the hub. */
export async function startSurroundings(options: WorldOptions): Promise<Surroundings> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-world-'));
  const clock = new SkippingClock(options.inMemory ? SPEED : 1);
  const crds = options.crds ?? hubCrds();
  const server = options.inMemory ? new MemoryServer({ crds, clock }) : await startApiServer({ crds, ...options.apiServer });
  const client = await server.client();
  const transports = options.simulated?.makesPullerAccount ? `actions,works,${PULLER_ACCOUNT},${NODE_PULLERS}` : undefined;
  await registerSpokes(client, options.spokes, { transports, nodes: options.nodes ?? 1 });
  await client.create(PreCachingConfig, {
    metadata: { name: 'config', namespace: 'default' },
    spec: { overrides: { platformImage: PLATFORM } },
  });
  const job = { seconds: 3, jitter: 0, startupMs: 500, progressMs: 1000, ...options.job };
  // A real server has the machine's time, and so have the spokes beside it.
  const time = options.inMemory && { clock };
  const shape = { seed: options.seed ?? 1, job, namespaceDeletionMs: 500, workCadence: WORK_CADENCE, ...time, ...options.simulated };
  const spokes = await startSimulatedSpokes({ client, names: options.spokes, ...shape });
  const hubArgs = [...HUB_ARGS, ...transportArgs(options), ...(options.hubArgs ?? [])];
  return { server, client, spokes, clock, dir, hubArgs, processes: options.processes ?? false };
}

/** How a hub is started as a process. */
interface HubProcessOptions {
  readonly args?: readonly string[];
  readonly kubeconfig?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly standby?: boolean;
}

/** Each fix once, by the table: what goes before it is what a test asks for. */
function withoutFix({ reason, message }: Pick<Condition, 'reason' | 'message'>): string {
  const fix = reason in reasons ? `; ${fixOf(reason as Reason)}` : '';
  return fix.length > 2 && message.endsWith(fix) ? message.slice(0, -fix.length) : message;
}

async function untilLeading<H extends TestHub>(hub: H): Promise<H> {
  await eventually(async () => (await hub.output()).includes('Caches are filled'), 'the hub to lead', 60_000);
  return hub;
}

/** An API server, simulated spokes in this process, and the hub. Upgrades are named `name` or `namespace/name`. */
export class HubWorld implements AsyncDisposable {
  readonly client: Client;
  readonly spokes: SimulatedSpokes;
  readonly dir: string;
  hub: TestHub | undefined;
  /** The time of hubs in this process. */
  readonly clock: SkippingClock;
  readonly #server: ApiServer | MemoryServer;
  readonly #args: readonly string[];
  readonly #processes: boolean;

  constructor({ server, client, spokes, clock, dir, hubArgs, processes }: Surroundings) {
    this.#server = server;
    this.clock = clock;
    this.client = client;
    this.spokes = spokes;
    this.dir = dir;
    this.#args = hubArgs;
    this.#processes = processes;
  }

  /** The real API server. */
  get server(): ApiServer {
    if (this.#server instanceof MemoryServer) throw new TypeError('the API server of this world is in memory');
    return this.#server;
  }

  async stop(): Promise<void> {
    await this.hub?.stop();
    await this.spokes.stop();
    if (this.#server instanceof MemoryServer) await this.client.close();
    else await this.#server.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Deletes a ManagedCluster as the cluster framework does: it is seen leaving, and then it is gone. */
  async detach(name: string): Promise<void> {
    const finalizers = (value: readonly string[] | null) =>
      this.client.patch(ManagedCluster, { name }, { metadata: { finalizers: value } }, { type: 'merge' });
    await finalizers(['cluster.open-cluster-management.io/api-resource-cleanup']);
    await this.client.delete(ManagedCluster, { name });
    await finalizers(null);
  }

  /** Starts the hub, unless none is wanted; a world without the one it wants ends. */
  async begin({ withoutHub }: WorldOptions): Promise<this> {
    try {
      if (!withoutHub) await this.startHub();
      return this;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Sets annotations of the upgrade; null removes one. */
  async annotate(name: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.client.patch(ClusterGroupUpgrade, upgradeRef(name), { metadata: { annotations } }, { type: 'merge' });
  }

  /** Starts another hub; resolves when it leads. */
  async startHub({ args = [] }: { readonly args?: readonly string[] } = {}): Promise<TestHub> {
    if (this.#processes) return this.startHubProcess({ args });
    this.hub = await embedHub(this.#server, [...this.#args, ...args], this.clock);
    return untilLeading(this.hub);
  }

  /** Starts another hub as a process of its own; resolves when it leads, unless `standby`. */
  async startHubProcess(options: HubProcessOptions = {}): Promise<RunningProgram> {
    const { kubeconfig = this.server.kubeconfig, args = [], env, standby = false } = options;
    const hub = await startHub(kubeconfig, this.dir, [...this.#args, ...args], env);
    this.hub = hub;
    return standby ? hub : untilLeading(hub);
  }

  async get(name: string): Promise<ClusterGroupUpgrade | undefined> {
    return this.client.get(ClusterGroupUpgrade, upgradeRef(name));
  }

  async delete(name: string): Promise<void> {
    await this.client.delete(ClusterGroupUpgrade, upgradeRef(name));
  }

  /** `Status Reason: Message` of a condition, without the fix that every message of its reason ends with. */
  async condition(name: string, type: string): Promise<string | undefined> {
    const condition = findCondition((await this.get(name))?.status?.conditions, type);
    return condition && `${condition.status} ${condition.reason}: ${withoutFix(condition)}`;
  }

  /** Waits until a condition has this text. */
  async untilCondition(name: string, type: string, want: string | RegExp, timeoutMs = 60_000): Promise<void> {
    let last: string | undefined;
    const ask = async () => {
      last = await this.condition(name, type);
      return typeof want === 'string' ? last === want || last === this.#asSaid(want) : last !== undefined && want.test(last);
    };
    await eventually(ask, () => `${name}: condition ${type} should be ${want}, is ${last}`, timeoutMs);
  }

  /** Blanks at the end of the reference's words go where a fix follows them. */
  #asSaid(want: string): string {
    return this.#args.includes('--talm-strict') ? want : want.trimEnd();
  }

  /** Names of the actions, the views and the works of jobs in a cluster's namespace, but for works that are kept with a job that failed. */
  async hubObjects(cluster: string): Promise<string[]> {
    const list = async (kind: Resource, labelSelector?: string): Promise<KubeObject[]> =>
      (await this.client.list(kind, { namespace: cluster, labelSelector })).items;
    const works = list(ManifestWork, `${Label.work} in (precache,backup,pins)`);
    const objects = (await Promise.all([list(ManagedClusterAction), list(ManagedClusterView), works])).flat();
    const isKept = ({ metadata }: KubeObject) => metadata.annotations?.['flotilla.io/frozen'] !== undefined;
    return objects.flatMap((object) => (isKept(object) ? [] : [object.metadata.name])).sort();
  }

  /** Waits until there are none. */
  async untilClean(clusters: readonly string[]): Promise<void> {
    for (const cluster of clusters)
      await eventually(async () => (await this.hubObjects(cluster)).length === 0, `the hub objects of ${cluster} to be gone`, 60_000);
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
      lastTransitionTime: conditionTime(this.clock.now()),
    };
    await this.client.patch(
      ManagedCluster,
      { name: cluster },
      { status: { conditions: [condition] } },
      { type: 'merge', subresource: 'status' },
    );
  }
}

/**
 * `test` with a `world` that the tests beside it share. A second attempt has one of its own, so nothing that the first left behind decides
 * it: neither names that are taken nor what was counted.
 */
export function testIn<W extends AsyncDisposable>(start: () => Promise<W>) {
  let shared: W | undefined;
  beforeAll(async () => {
    shared = await start();
  });
  afterAll(() => shared?.[Symbol.asyncDispose]());
  return test.extend<{ world: W }>({
    world: async ({ task }, use) => {
      await using own = task.result?.retryCount ? await start() : undefined;
      const world = own ?? shared;
      if (!world) throw new TypeError('the world did not start');
      await use(world);
    },
  });
}

/**
 * For tests that run one after the other and share what variables of their file hold: `begin` sets all of them, those that collect too, and is
 * called again, after `end`, before a second attempt. Tests that run beside one another have `testIn`.
 */
export function eachAttempt(begin: () => Promise<unknown>, end: () => Promise<unknown> = () => Promise.resolve()): void {
  beforeAll(async () => void (await begin()));
  beforeEach(async ({ task }) => {
    if (!task.result?.retryCount) return;
    await end();
    await begin();
  });
  afterAll(async () => void (await end()));
}

/** What `name` or `namespace/name` refers to; the namespace is `default` when there is none. */
export function upgradeRef(name: string): { namespace: string; name: string } {
  const [first = '', second] = name.split('/');
  return second === undefined ? { namespace: 'default', name: first } : { namespace: first, name: second };
}

/** `spoke-1` to `spoke-n`, or with another prefix. */
export const spokeNames = (count: number, prefix = 'spoke'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
