import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeObject, type Resource, untyped } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion, configCrds, VERSION_NAMESPACE } from '@flotilla/api/config';
import { CustomResourceDefinition, Lease } from '@flotilla/api/core';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { type FakeOperators, type Relay, startFakeOperators, startRelay } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { type Client, WatchCache } from '@flotilla/runtime';
import { type RunningProgram, startProgram } from '../../support/programs.ts';
import { auditUpdates, faultsOf, readWrites } from './audited-update.ts';
import { CHAOS_NAMESPACE, leveledRelease, leveledScript, releaseImageOf, writeLeveledRelease } from './leveled-release.ts';

const REF = { name: CLUSTER_VERSION_NAME };
/** From the change of an operator's Deployment to its report, milliseconds. */
const REPORT_MS = 200;

/** Kinds of which a release has objects, and whose objects are compared at the end. */
const kinds: readonly Resource[] = [
  untyped('v1', 'ConfigMap', 'configmaps'),
  untyped('v1', 'ServiceAccount', 'serviceaccounts'),
  untyped('apps/v1', 'Deployment', 'deployments'),
  untyped('chaos.flotilla.io/v1', 'Boat', 'boats'),
];
const clusterKinds: readonly Resource[] = [untyped('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', false)];

/** A cluster whose operator is a process of its own, which reaches the API server through a connection that can be cut. */
export class ChaosWorld implements AsyncDisposable {
  readonly client: Client;
  readonly #server: ApiServer;
  readonly #dir: string;
  readonly #auditLog: string;
  readonly #operators: FakeOperators;
  readonly #relay: Relay;
  readonly #versions: WatchCache<ClusterVersion>;
  readonly #watching = new AbortController();
  /** What Failing was said to be since the update began, without repetition. */
  readonly #failures = new Set<string>();
  #operator: RunningProgram | undefined;

  private constructor(parts: {
    server: ApiServer;
    client: Client;
    dir: string;
    auditLog: string;
    operators: FakeOperators;
    relay: Relay;
  }) {
    this.#server = parts.server;
    this.client = parts.client;
    this.#dir = parts.dir;
    this.#auditLog = parts.auditLog;
    this.#operators = parts.operators;
    this.#relay = parts.relay;
    this.#versions = new WatchCache(parts.client, ClusterVersion);
    this.#versions.subscribe(({ object }) => {
      const failing = object.status?.conditions?.find(({ type }) => type === 'Failing');
      if (failing && failing.status !== 'False') this.#failures.add(`${failing.status} ${failing.reason}: ${failing.message}`);
    });
    this.#versions.start(this.#watching.signal);
  }

  /** Starts a cluster and installs the first of some releases. */
  static async start(versions: readonly string[]): Promise<ChaosWorld> {
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-payload-chaos-'));
    const auditLog = join(dir, 'audit.log');
    const server = await startApiServer(auditUpdates(auditLog));
    const client = await server.client();
    for (const crd of configCrds()) await client.create(CustomResourceDefinition, KubeObject.parse(crd));
    const version = KubeObject.parse({ metadata: REF, spec: { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e' } });
    await eventually(() => client.create(ClusterVersion, version).catch(() => undefined));
    for (const each of versions) await writeLeveledRelease(dir, each);
    const operators = await startFakeOperators({ client, releases: versions.map(leveledScript), updateDelayMs: REPORT_MS });
    const relay = await startRelay(server.url);
    const kubeconfig = await readFile(server.kubeconfig, 'utf8');
    await writeFile(join(dir, 'kubeconfig'), kubeconfig.replaceAll(server.url, relay.url), { mode: 0o600 });
    const world = new ChaosWorld({ server, client, dir, auditLog, operators, relay });
    const [first = ''] = versions;
    await world.startOperator(first);
    await world.completed(first);
    await world.stopOperator();
    return world;
  }

  /** Starts the operator of a release; resolves when it leads. */
  async startOperator(version: string): Promise<void> {
    this.#operator = await startProgram({
      name: `version-operator-${version}`,
      entry: 'apps/version-operator/src/main.ts',
      args: ['--kubeconfig', join(this.#dir, 'kubeconfig'), '--payload', join(this.#dir, version), '--image', releaseImageOf(version)],
      dir: this.#dir,
      isReady: (output) => output.includes('Loaded the release'),
    });
  }

  /** Has it end as it does when its pod is replaced. */
  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
  }

  /** Kills it. What it held of the lease is given back for it, as nobody waits for that here. */
  async killOperator(): Promise<void> {
    await this.#operator?.stop({ signal: 'SIGKILL' });
    await this.client.delete(Lease, { namespace: VERSION_NAMESPACE, name: CLUSTER_VERSION_NAME });
  }

  /** Has the API server be out of the operator's reach for a while. */
  async cutOff(ms: number): Promise<void> {
    this.#relay.setFaults({ refuse: true });
    this.#relay.cutNow();
    await new Promise((resolve) => setTimeout(resolve, ms));
    this.#relay.setFaults({});
  }

  /** Sends the cluster to a release. @returns the store's revision then */
  async ask(version: string): Promise<number> {
    const desiredUpdate = { version, image: releaseImageOf(version) };
    const { metadata } = await this.client.patch(ClusterVersion, REF, { spec: { desiredUpdate } }, { type: 'merge' });
    this.#failures.clear();
    return Number(metadata.resourceVersion);
  }

  async hasCompleted(version: string): Promise<boolean> {
    const [newest] = (await this.client.get(ClusterVersion, REF))?.status?.history ?? [];
    return newest?.state === 'Completed' && newest.version === version;
  }

  async completed(version: string): Promise<void> {
    await eventually(() => this.hasCompleted(version), `the end of ${version}`, 90_000).catch(async (error: unknown) => {
      const { status } = (await this.client.get(ClusterVersion, REF)) ?? {};
      throw new Error(`${JSON.stringify(status?.conditions)}\n${(await this.#operator?.output())?.slice(-3_000)}`, { cause: error });
    });
  }

  /** What the update since a revision did otherwise than it is to, and whatever it called a failure. */
  async faults(version: string, since: number): Promise<string[]> {
    const writes = await readWrites(this.#auditLog, since);
    return [...faultsOf(leveledRelease(version), version, writes), ...[...this.#failures].map((failing) => `Failing was ${failing}`)];
  }

  /** How a cluster is that runs a release: all that does not tell of times, with the release's version taken out. */
  async endState(version: string): Promise<unknown> {
    const { status } = (await this.client.get(ClusterVersion, REF)) ?? {};
    const operators = await this.client.list(ClusterOperator, {});
    const lists = await Promise.all([
      ...kinds.map((kind) => this.client.list(kind, { namespace: CHAOS_NAMESPACE })),
      ...clusterKinds.map((kind) => this.client.list(kind, {})),
    ]);
    const state = {
      conditions: status?.conditions?.map(({ type, status: is, reason, message }) => ({ type, is, reason, message })),
      newest: { ...status?.history?.[0], startedTime: '', completionTime: typeof status?.history?.[0]?.completionTime },
      hash: typeof status?.versionHash,
      operators: operators.items.map(({ metadata: { name, annotations }, status: { versions } = {} }) => ({ name, annotations, versions })),
      objects: lists.flatMap(({ items }) => items.map(plain)).filter(({ name }) => !/^system:/.test(name)),
    };
    return JSON.parse(JSON.stringify(state).replaceAll(version, 'VERSION'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator?.stop({ signal: 'SIGKILL' });
    this.#watching.abort();
    await this.#versions.stopped();
    await this.#operators.stop();
    await this.#relay.stop();
    await this.#server.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** An object without what a server writes into it by itself. */
function plain(object: KubeObject) {
  const { metadata, status: _status, ...rest } = object;
  const { name, namespace, labels, annotations, ownerReferences } = metadata;
  return { name, namespace, labels, annotations, ownerReferences, ...rest };
}
