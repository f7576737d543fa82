import { KubeObject, type Resource, WaitingError } from '@flotilla/api';
import { CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import {
  CLUSTER_AVAILABLE,
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  ManifestWorkReplicaSet,
  transportCrds,
} from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, ranCrds } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { type Client, createLogger, createMetrics, isNotFound } from '@flotilla/runtime';
import { createWorkerCaches, type SpokeCaches } from '../src/caches.ts';
import type { SpokeKey } from '../src/spokes/part.ts';
import { createRolloutStep, planRolloutSpoke } from '../src/spokes/rollout/step.ts';

const logger = createLogger({ name: 'test', level: 'silent' });

/** A hub process for steps of spokes, with its own caches and processor. */
export interface StepProcess {
  readonly caches: SpokeCaches;
  readonly process: (key: SpokeKey) => Promise<unknown>;
  /** Stops the watch of upgrades only. */
  readonly fallBehind: () => void;
}

/** Real API server on which the test plays the leader: it writes the status, and steps apply it. For tests. */
export class SpokeHub {
  readonly client: Client;
  readonly #stop = new AbortController();

  private constructor(client: Client) {
    this.client = client;
  }

  /** Installs the CRDs. @param client of an API server that is the caller's to stop */
  static async start(client: Client): Promise<SpokeHub> {
    for (const crd of [...ranCrds(), ...transportCrds()])
      await client.apply(CustomResourceDefinition, KubeObject.parse(crd), { fieldManager: 'test' });
    const kinds = [ClusterGroupUpgrade, ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork, ManifestWorkReplicaSet];
    for (const kind of kinds) await eventually(() => isServed(client, kind), 'the kinds to be served');
    return new SpokeHub(client);
  }

  /** Ends the processes. */
  stop(): void {
    this.#stop.abort();
  }

  /**
   * Starts a process with caches of its own.
   * @param writesUntilCrash writes before all others fail; default never
   */
  async startProcess(writesUntilCrash = Number.POSITIVE_INFINITY): Promise<StepProcess> {
    const client = crashing(this.client, writesUntilCrash);
    const shared = { logger, metrics: createMetrics({ process: false }) };
    const caches = createWorkerCaches(client, shared);
    const held = new AbortController();
    const { upgrades, ...others } = caches;
    upgrades.start(AbortSignal.any([this.#stop.signal, held.signal]));
    for (const cache of Object.values(others)) cache.start(this.#stop.signal);
    await Promise.all(Object.values(caches).map((cache) => cache.synced()));
    const step = createRolloutStep({ client, caches, now: Date.now, logger, viewSeconds: 1 }, true);
    return { caches, process: (key: SpokeKey) => step(key, this.#stop.signal), fallBehind: () => held.abort() };
  }

  /** Registers a spoke for one story. */
  async spoke(name: string, labels: Readonly<Record<string, string>> = {}): Promise<string> {
    await this.client.create(Namespace, { metadata: { name } });
    await this.client.create(ManagedCluster, { metadata: { name, labels: { name, ...labels } }, spec: { hubAcceptsClient: true } });
    await this.setAvailable(name, true);
    return name;
  }

  /** Sets the availability in the ManagedCluster. */
  async setAvailable(name: string, available: boolean): Promise<void> {
    const conditions = [condition(CLUSTER_AVAILABLE, available ? 'True' : 'False', 'Test')];
    await this.client.patch(ManagedCluster, { name }, { status: { conditions } }, { type: 'merge', subresource: 'status' });
  }

  /** Creates an upgrade with a status. */
  async upgrade(name: string, spec: Record<string, unknown>, status: UpgradeStatus, namespace = 'default'): Promise<ClusterGroupUpgrade> {
    await this.client.create(ClusterGroupUpgrade, {
      metadata: { name, namespace },
      spec: { remediationStrategy: { maxConcurrency: 1 }, ...spec },
    });
    return this.store(name, status, namespace);
  }

  /** Stores a status, as the leader does. */
  store(name: string, status: UpgradeStatus, namespace = 'default'): Promise<ClusterGroupUpgrade> {
    return this.client.patch(ClusterGroupUpgrade, { namespace, name }, { status }, { type: 'merge', subresource: 'status' });
  }

  async template(name: string, annotations: Record<string, string> = {}): Promise<void> {
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } };
    await this.client.create(ManifestWorkReplicaSet, {
      metadata: { name, namespace: 'default', annotations },
      spec: { placementRefs: [{ name: 'dummy' }], manifestWorkTemplate: { workload: { manifests: [manifest] } } },
    });
  }

  async cluster(name: string): Promise<ManagedCluster | undefined> {
    return this.client.get(ManagedCluster, { name });
  }

  works(cluster: string): Promise<ManifestWork[]> {
    return this.#list(ManifestWork, cluster);
  }

  views(cluster: string): Promise<ManagedClusterView[]> {
    return this.#list(ManagedClusterView, cluster);
  }

  actions(cluster: string): Promise<ManagedClusterAction[]> {
    return this.#list(ManagedClusterAction, cluster);
  }

  async #list<T extends KubeObject>(kind: Resource<T>, namespace: string): Promise<T[]> {
    return (await this.client.list(kind, { namespace })).items;
  }
}

/** Status as a test stores it; conditions by `running` and `ended`. */
type UpgradeStatus = Readonly<Record<string, unknown>>;

const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: reason,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

/** Status of a running rollout: `progress` of the current batch, by cluster. */
export const running = (progress: Record<string, unknown>, more: UpgradeStatus = {}): UpgradeStatus => ({
  conditions: [condition('Progressing', 'True', 'InProgress')],
  remediationPlan: [Object.keys(progress)],
  status: { currentBatch: 1, currentBatchRemediationProgress: progress },
  ...more,
});

/** Status of a rollout that is about to start with these clusters. */
export const preparing = (clusters: readonly string[]): UpgradeStatus => ({
  conditions: [condition('Progressing', 'True', 'InProgress')],
  remediationPlan: [clusters],
  status: {},
});

/** Status of an ended rollout. */
export const ended = (more: UpgradeStatus = {}): UpgradeStatus => ({
  conditions: [condition('Progressing', 'False', 'Completed'), condition('Succeeded', 'True', 'Completed')],
  status: { currentBatch: null, currentBatchRemediationProgress: null },
  ...more,
});

/** Step of one cluster in the rollout of an upgrade. */
export const stepOf = ({ metadata }: ClusterGroupUpgrade, cluster: string): SpokeKey => ({ upgrade: metadata.uid ?? '', cluster });

/** Runs a step as the queue does, again whenever it waits. Resolves when it neither waits nor writes. */
export async function runStep({ caches, process }: StepProcess, upgrade: ClusterGroupUpgrade, cluster: string): Promise<void> {
  const step = stepOf(upgrade, cluster);
  await eventually(() => isCurrent(caches, upgrade), 'the cache to have the upgrade as stored');
  await eventually(async () => {
    const waiting = await attempt(process, step);
    const stored = caches.upgrades.get(upgrade.metadata);
    if (waiting !== undefined || !stored) return false;
    const { writes, at } = planRolloutSpoke(stored, cluster, { caches, now: Date.now });
    return writes.length === 0 && at === undefined;
  }, `the step of ${cluster} to be done`);
}

/** Runs a step once; resolves to its reason for waiting, if any. */
export async function attempt(process: StepProcess['process'], step: SpokeKey): Promise<string | undefined> {
  try {
    await process(step);
    return undefined;
  } catch (error) {
    if (error instanceof WaitingError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

/** True when the cache has this version of the upgrade, or a later one. */
export function isCurrent(caches: SpokeCaches, { metadata }: ClusterGroupUpgrade): boolean {
  const version = caches.upgrades.get(metadata)?.metadata.resourceVersion;
  return version !== undefined && Number(version) >= Number(metadata.resourceVersion);
}

async function isServed(client: Client, kind: Resource): Promise<boolean> {
  try {
    await client.list(kind);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Creates a client of a crashing process: writes after the first so many never reach the server. */
function crashing(client: Client, writes: number): Client {
  let left = writes;
  const die =
    <A extends unknown[], R>(call: (...args: A) => R) =>
    (...args: A): R => {
      if (left <= 0) throw new Error('the process is dead');
      left -= 1;
      return call(...args);
    };
  return {
    ...bound(client),
    create: die(client.create.bind(client)),
    patch: die(client.patch.bind(client)),
    delete: die(client.delete.bind(client)),
  };
}

const bound = (client: Client): Client => ({
  server: client.server,
  get: client.get.bind(client),
  list: client.list.bind(client),
  create: client.create.bind(client),
  replace: client.replace.bind(client),
  patch: client.patch.bind(client),
  apply: client.apply.bind(client),
  delete: client.delete.bind(client),
  deleteCollection: client.deleteCollection.bind(client),
  watch: client.watch.bind(client),
  getText: client.getText.bind(client),
  request: client.request.bind(client),
  close: client.close.bind(client),
});
