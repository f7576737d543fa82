/** Plays the leader for one spoke at a time: steps on a real hub API server, with decisions kept in memory. For tests. */
import { type KubeObject, Label } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type PrecacheState } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { saidOf, type Transport, type UpgradeIdentity } from '@flotilla/rollout';
import { type Client, createLogger, createMetrics } from '@flotilla/runtime';
import { createWorkerCaches, type SpokeJobCaches } from '../src/caches.ts';
import { Cleaning } from '../src/spokes/cleaning.ts';
import { createPrecacheJob, precacheCleaning } from '../src/spokes/jobs/kinds/precache/job.ts';
import { planStep } from '../src/spokes/jobs/plan.ts';
import { applySpokePlan, reachSpoke } from '../src/spokes/transports/reach.ts';
import { agentCondition, buildPrecacheSettings } from './observation-builders.ts';

const job = createPrecacheJob(buildPrecacheSettings({ jobViewSeconds: 1, progressViewSeconds: 1 }));

/** Two dozen stories share the machine. */
const PATIENCE_MS = 90_000;

/** Hub's side of a fleet. */
export class PortHub {
  readonly client: Client;
  readonly caches: SpokeJobCaches;
  readonly #stop = new AbortController();

  private constructor(client: Client) {
    this.client = client;
    const shared = { logger: createLogger({ name: 'test', level: 'silent' }), metrics: createMetrics({ process: false }) };
    this.caches = createWorkerCaches(client, shared);
  }

  static async start(client: Client): Promise<PortHub> {
    const hub = new PortHub(client);
    const caches = Object.values(hub.caches);
    for (const cache of caches) cache.start(hub.#stop.signal);
    await Promise.all(caches.map((cache) => cache.synced()));
    return hub;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Sets the availability in the ManagedCluster, and waits until this hub has it. */
  async setAvailable(name: string, available: boolean): Promise<void> {
    const conditions = [agentCondition(CLUSTER_AVAILABLE, available ? 'True' : 'False', 'Test')];
    const { metadata } = await this.client.patch(
      ManagedCluster,
      { name },
      { status: { conditions } },
      { type: 'merge', subresource: 'status' },
    );
    const isHeard = () => this.caches.clusters.get({ name })?.metadata.resourceVersion === metadata.resourceVersion;
    await eventually(isHeard, `this hub to hear of ${name}`);
  }

  /** Lists all pre-caching objects in the spoke's hub namespace. */
  async objects(cluster: string): Promise<KubeObject[]> {
    const lists = [ManagedClusterAction, ManagedClusterView, ManifestWork].map((kind) =>
      this.client.list<KubeObject>(kind, { namespace: cluster, labelSelector: `${Label.work}=precache` }),
    );
    return (await Promise.all(lists)).flatMap(({ items }) => items);
  }

  /** Deletes all of these, as a tidy-up would. */
  async rob(cluster: string): Promise<void> {
    for (const kind of [ManagedClusterAction, ManagedClusterView, ManifestWork])
      for (const { metadata } of (await this.client.list<KubeObject>(kind, { namespace: cluster, labelSelector: `${Label.work}=precache` }))
        .items)
        await this.client.delete(kind, metadata);
  }
}

/** Pre-cache of one upgrade on one spoke. */
export class PortDriver {
  readonly #hub: PortHub;
  readonly #cluster: string;
  readonly #transport: Transport;
  readonly #upgrade: UpgradeIdentity;
  state: PrecacheState = 'NotStarted';
  /** States in order, without repetitions. */
  readonly states: PrecacheState[] = [];
  readonly messages: string[] = [];
  /** Images of the spec beyond the platform's. */
  images: string[] = [];
  deadlineAt = Number.POSITIVE_INFINITY;
  /** Milliseconds that this hub's clock is ahead, to shorten minutes to seconds. */
  ahead = 0;

  constructor(hub: PortHub, cluster: string, transport: Transport, name = cluster) {
    this.#hub = hub;
    this.#cluster = cluster;
    this.#transport = transport;
    this.#upgrade = { namespace: 'default', name, uid: `uid-${name}` };
  }

  readonly #now = (): number => Date.now() + this.ahead;

  /** Runs one step; resolves to the new state. */
  async step(): Promise<PrecacheState> {
    const { caches, client } = this.#hub;
    const managed = caches.clusters.get({ name: this.#cluster });
    const place = { job, upgradeUid: this.#upgrade.uid, cluster: this.#cluster };
    const inputs = {
      spec: { additionalImages: this.images },
      image: 'registry.test/puller:1',
      profile: 'least-privilege',
      jobSeconds: 600,
    } as const;
    const digest = job.digest?.(inputs);
    const reach = reachSpoke(caches, { ...place, transport: this.#transport, now: this.#now() });
    const task = {
      job,
      upgrade: this.#upgrade,
      cluster: this.#cluster,
      digest,
      workload: job.workload(inputs, { upgradeUid: this.#upgrade.uid, managed, clusters: 1 }),
    };
    const context = {
      job,
      upgradeUid: this.#upgrade.uid,
      cluster: this.#cluster,
      now: this.#now(),
      deadlineAt: this.deadlineAt,
      claimedBy: undefined,
      claimantEnded: false,
      trouble: undefined,
      digest,
    };
    const { state, message, writes } = planStep(task, { current: this.state, stored: this.state }, reach, context);
    await applySpokePlan({ writes }, task, { client, caches, signal: new AbortController().signal });
    this.state = state;
    if (this.states.at(-1) !== state) this.states.push(state);
    const said = message === undefined ? undefined : saidOf(message);
    if (said !== undefined && this.messages.at(-1) !== said) this.messages.push(said);
    return state;
  }

  /** Steps until the job is in that state, and once more. */
  async until(state: PrecacheState, timeoutMs = PATIENCE_MS): Promise<void> {
    await eventually(async () => (await this.step()) === state, this.#story(`${this.#cluster} to be ${state}`), timeoutMs);
    await this.step();
  }

  /** Steps until the condition holds. */
  async untilSo(isSo: () => boolean | Promise<boolean>, what: string, timeoutMs = PATIENCE_MS): Promise<void> {
    await eventually(
      async () => {
        await this.step();
        return isSo();
      },
      this.#story(what),
      timeoutMs,
    );
  }

  /** Removes the remaining objects, as the end of the upgrade does. */
  async end(): Promise<void> {
    const { client, caches } = this.#hub;
    const { uid } = this.#upgrade;
    const ended = ClusterGroupUpgrade.schema.parse({
      metadata: this.#upgrade,
      spec: { clusters: [this.#cluster], remediationStrategy: { maxConcurrency: 1 } },
      status: {
        status: {},
        conditions: [agentCondition('Succeeded', 'False', 'TimedOut')],
        precaching: { status: { [this.#cluster]: this.state } },
      },
    });
    const upgrades = { list: () => [ended], byIndex: () => [ended], subscribe: () => () => {} } as never;
    const cleaning = new Cleaning({
      client,
      caches: { ...caches, upgrades },
      job: precacheCleaning('least-privilege'),
      claims: { claim: () => undefined, release: () => {} },
      enqueue: () => {},
      onClean: () => {},
      now: this.#now,
    });
    const signal = new AbortController().signal;
    await eventually(
      async () => {
        await cleaning.plan({ upgrade: uid, cluster: this.#cluster }).apply?.(signal);
        return cleaning.isClean(ended, false);
      },
      this.#story(`${this.#cluster} to be cleaned`),
      PATIENCE_MS,
    );
  }

  readonly #story = (what: string) => (): string => `${what}: ${this.states.join(' → ')}; messages ${JSON.stringify(this.messages)}`;
}
