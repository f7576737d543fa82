/** The real operator in this process with real Prometheus and Alertmanager, and OCM played by a server: for tests. */

import { ConfigMap, Event, Namespace, Secret } from '@flotilla/api/core';
import { OPERATOR_CONFIG_MAP, OPERATOR_NAMESPACE, type StepCondition, UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { eventually } from '@flotilla/pace/testing';
import { type Client, createLogger, createMetrics, isNotFound, systemClock } from '@flotilla/runtime';
import { createAlertmanager } from '../src/clients/alertmanager.ts';
import { readConfig } from '../src/config.ts';
import { runOperator } from '../src/operator.ts';
import { createPorts } from '../src/wiring.ts';
import { CASE_REF, installKinds } from './operator-case.ts';

/** Target version of every case. */
export const TARGET = '4.14.12';
/** Version that the cluster may go to after the target. */
export const AFTER_TARGET = '4.15.3';
const OFFERS = { 'stable-4.14': [TARGET], 'stable-4.15': [AFTER_TARGET] };
const TOKEN = 'c2VjcmV0LW9mLXRlc3Q=';
/** As the simulated cluster says it. */
const CLUSTER_ID = '00000000-0000-4000-8000-000000000001';
const CONFIG_MAP = { namespace: OPERATOR_NAMESPACE, name: OPERATOR_CONFIG_MAP.name };

/** A service of the cluster's monitoring. */
interface Listening {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}
interface Monitoring extends Listening {
  setAlerts(alerts: readonly { readonly alertname: string; readonly labels?: Readonly<Record<string, string>> }[]): Promise<void>;
}
interface Server {
  readonly kubeconfig: string;
  client(): Promise<Client>;
  stop(): Promise<void>;
}
/** OCM, as far as tests play with it. */
interface Manager {
  readonly url: string;
  readonly requests: readonly { readonly path: string }[];
  readonly written: readonly string[];
  readonly serviceLogs: readonly Readonly<Record<string, unknown>>[];
  setPolicies(policies: readonly ReturnType<typeof policy>[]): void;
  setState(policyId: string, value: string): void;
  setFaults(...faults: readonly { readonly path?: RegExp; readonly status?: number }[]): void;
  stop(): Promise<void>;
}
interface Actors {
  setFaults(faults: { readonly controlPlaneHeld?: boolean }): void;
  stop(): Promise<void>;
}

/** Parts of a world; a test takes them from `@flotilla/control-plane`, which no app imports. */
interface WorldParts {
  readonly startApiServer: () => Promise<Server>;
  readonly startAlertmanager: () => Promise<Listening>;
  readonly startPrometheus: () => Promise<Monitoring>;
  readonly startClusterManager: (cluster: { readonly externalId: string; readonly token: string }) => Promise<Manager>;
  readonly createSmallCluster: (client: Client) => Promise<void>;
  readonly clearCluster: (client: Client) => Promise<void>;
  readonly startClusterActors: (options: {
    readonly client: Client;
    readonly offers: Readonly<Record<string, readonly string[]>>;
  }) => Promise<Actors>;
}

/** Servers for all cases of a file, and a cluster for each. */
class RealWorld {
  readonly server: Server;
  readonly client: Client;
  alertmanager: Listening;
  prometheus: Monitoring;
  readonly #parts: WorldParts;
  #cluster: { readonly manager: Manager; readonly actors: Actors } | undefined;
  #operator: { readonly stop: () => Promise<void>; readonly counted: () => Promise<string> } | undefined;

  private constructor(parts: WorldParts, started: { server: Server; client: Client; alertmanager: Listening; prometheus: Monitoring }) {
    this.#parts = parts;
    this.server = started.server;
    this.client = started.client;
    this.alertmanager = started.alertmanager;
    this.prometheus = started.prometheus;
  }

  /** Starts the servers. */
  static async start(parts: WorldParts): Promise<RealWorld> {
    const { startApiServer, startAlertmanager, startPrometheus } = parts;
    const [server, alertmanager, prometheus] = await Promise.all([startApiServer(), startAlertmanager(), startPrometheus()]);
    const client = await server.client();
    await installKinds(client);
    await client.create(Namespace, { metadata: { name: 'openshift-config' } });
    const config = JSON.stringify({ auths: { 'cloud.openshift.com': { auth: TOKEN } } });
    await client.create(Secret, {
      metadata: { namespace: 'openshift-config', name: 'pull-secret' },
      data: { '.dockerconfigjson': Buffer.from(config).toString('base64') },
    });
    return new RealWorld(parts, { server, client, alertmanager, prometheus });
  }

  async stop(): Promise<void> {
    await this.prometheus.stop();
    await this.alertmanager.stop();
    await this.server.stop();
  }

  get manager(): Manager {
    if (!this.#cluster) throw new Error('a case begins with beginCase');
    return this.#cluster.manager;
  }

  get actors(): Actors {
    if (!this.#cluster) throw new Error('a case begins with beginCase');
    return this.#cluster.actors;
  }

  /** A cluster, its OCM, and the configuration that follows OCM's policies. */
  async beginCase(): Promise<void> {
    const { startClusterManager, createSmallCluster, startClusterActors } = this.#parts;
    const manager = await startClusterManager({ externalId: CLUSTER_ID, token: TOKEN });
    await createSmallCluster(this.client);
    this.#cluster = { manager, actors: await startClusterActors({ client: this.client, offers: OFFERS }) };
    await this.configure();
  }

  /** Takes the case's cluster away. */
  async endCase(): Promise<void> {
    await this.stopOperator();
    await this.#cluster?.actors.stop();
    await this.#cluster?.manager.stop();
    await this.client.delete(UpgradeConfig, CASE_REF);
    await this.client.delete(ConfigMap, CONFIG_MAP);
    await this.#parts.clearCluster(this.client);
    await this.prometheus.setAlerts([]);
    const standing = this.silences;
    for (const { id, status } of await standing.silences()) if (status.state !== 'expired') await standing.expire(id);
  }

  get silences() {
    return createAlertmanager({ clock: systemClock, url: async () => new URL(this.alertmanager.url) });
  }

  /** Writes the operator's configuration: OCM's policies, but for what is given. */
  async configure(change: Record<string, unknown> = {}): Promise<void> {
    const configManager = { source: 'OCM', ocmBaseUrl: this.manager.url, watchInterval: 60 };
    await this.write(JSON.stringify({ upgradeType: 'OSD', configManager, nodeDrain: { timeOut: 45 }, ...change }));
  }

  /** Writes it so that the user's own UpgradeConfig counts. */
  configureLocal(): Promise<void> {
    return this.configure({ configManager: { source: 'LOCAL', localConfigName: CASE_REF.name } });
  }

  /** A change of the configuration has OCM asked at once. */
  askAgain(watchInterval: number): Promise<void> {
    return this.configure({ configManager: { source: 'OCM', ocmBaseUrl: this.manager.url, watchInterval } });
  }

  /** Writes what stands in the ConfigMap. */
  async write(text: string): Promise<void> {
    const data = { [OPERATOR_CONFIG_MAP.key]: text };
    await this.client.patch(ConfigMap, CONFIG_MAP, { data }, { type: 'merge' }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return this.client.create(ConfigMap, { metadata: CONFIG_MAP, data });
    });
  }

  /** Starts the operator. @param env of its process, such as proxies */
  startOperator(env: NodeJS.ProcessEnv = {}): void {
    const stopping = new AbortController();
    const metrics = createMetrics({ process: false });
    const urls = ['--prometheus-url', this.prometheus.url, '--alertmanager-url', this.alertmanager.url];
    const deps = {
      client: this.client,
      settings: readConfig([...urls, '--retry-seconds', '1'], env),
      logger: createLogger({ name: 'operator', level: 'silent' }),
      metrics,
      clock: systemClock,
    };
    const patient = createPorts({ retry: { attempts: 2, baseMs: 50, maxMs: 100 }, timeoutMs: 2_000 });
    const ended = runOperator(deps, { createPorts: patient }, stopping.signal);
    this.#operator = {
      counted: () => metrics.registry.metrics(),
      async stop() {
        stopping.abort();
        await ended;
      },
    };
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  /** Text of the running operator's metrics; empty when none runs. */
  async counted(): Promise<string> {
    return this.#operator ? this.#operator.counted() : '';
  }

  async history(): Promise<readonly UpgradeHistory[]> {
    return (await this.client.get(UpgradeConfig, CASE_REF))?.status?.history ?? [];
  }

  /** Condition of the newest entry. */
  async condition(type: string): Promise<StepCondition | undefined> {
    return (await this.history())[0]?.conditions?.find((each) => each.type === type);
  }

  untilPhase(phase: string): Promise<boolean> {
    return eventually(async () => (await this.history())[0]?.phase === phase, `phase ${phase}`, 60_000);
  }

  untilTrue(type: string): Promise<boolean> {
    return eventually(async () => (await this.condition(type))?.status === 'True', `${type} to be so`, 60_000);
  }

  untilSaid(type: string, words: string): Promise<boolean> {
    return eventually(async () => ((await this.condition(type))?.message ?? '').includes(words), `${type} to say ${words}`, 60_000);
  }

  /** Reasons of the UpgradeConfig's events, the earliest first. */
  async eventReasons(): Promise<string[]> {
    const uid = (await this.client.get(UpgradeConfig, CASE_REF))?.metadata.uid;
    const { items } = await this.client.list(Event, { namespace: OPERATOR_NAMESPACE });
    const own = items.filter(({ regarding }) => regarding?.uid === uid);
    return own.toSorted((a, b) => (a.eventTime ?? '').localeCompare(b.eventTime ?? '')).map(({ reason }) => reason ?? '');
  }
}

/** The hooks of a test's file; vitest's, which only tests import. */
type Hooks = Readonly<Record<'beforeAll' | 'afterAll' | 'beforeEach' | 'afterEach', (act: () => Promise<void>) => void>>;

/** Has the cases of a file run in one world, each in a cluster of its own. Returns the world; there is none before the first case. */
export function casesIn(parts: WorldParts, { beforeAll, afterAll, beforeEach, afterEach }: Hooks): () => RealWorld {
  let started: RealWorld | undefined;
  const world = (): RealWorld => {
    if (!started) throw new TypeError('the world did not start');
    return started;
  };
  beforeAll(async () => {
    started = await RealWorld.start(parts);
  });
  afterAll(async () => started?.stop());
  beforeEach(() => world().beginCase());
  afterEach(() => world().endCase());
  return world;
}

/** A policy of OCM for `TARGET`, due a second ago unless told otherwise. */
export const policy = (nextRun = Date.now() - 1_000, more: object = {}) => ({
  id: 'p',
  version: TARGET,
  next_run: `${new Date(nextRun).toISOString().slice(0, 19)}Z`,
  capacity_reservation: false,
  ...more,
});
