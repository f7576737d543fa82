import { ClusterVersion } from '@flotilla/api/config';
import { ConfigMap, Namespace } from '@flotilla/api/core';
import { MachineConfigPool } from '@flotilla/api/machine';
import { OPERATOR_CONFIG_MAP, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { type ApiServer, startAlertmanager, startApiServer, startPrometheus, startUpdateService } from '@flotilla/control-plane/servers';
import {
  createSmallCluster,
  type OperatorScript,
  releaseImage,
  startClusterActors,
  startFakeOperators,
} from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { type Client, isNotFound } from '@flotilla/runtime';
import { scriptOf, writeSmallRelease } from '../../fixtures/small-release.ts';
import { startProgram, startUpgradeOperator } from '../../support/programs.ts';

/** The UpgradeConfig that the upgrade operator carries out. */
export const UPGRADE_CONFIG = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
const CONFIGURATION = 'maintenance: {controlPlaneTime: 90}\nscale: {timeOut: 30}\nnodeDrain: {timeOut: 45, expectedNodeDrainTime: 8}\n';

/** A release that a cluster is run from. */
export interface ClusterRelease {
  readonly version: string;
  readonly image: string;
  /** Its payload. */
  readonly folder: string;
  /** What its operators report, and when. */
  readonly script: OperatorScript;
}

/** A release of two operators: each has its Deployment, and reports before the next is touched. */
export async function smallRelease(dir: string, version: string): Promise<ClusterRelease> {
  const operators = [
    { level: '10', name: 'etcd' },
    { level: '20', name: 'network' },
  ];
  const folder = await writeSmallRelease(dir, version, operators);
  return { version, image: releaseImage(version), folder, script: scriptOf(version, operators) };
}

/** What a managed cluster is made of. */
export interface ManagedClusterOptions {
  readonly releases: readonly [old: ClusterRelease, next: ClusterRelease];
  readonly channel: string;
  /** Makes of an empty cluster one that a release can be installed on, with its ClusterVersion. */
  readonly prepare: (client: Client) => Promise<void>;
  /** Longest time for an installation or an update. */
  readonly patienceMs: number;
  /** Folder for logs. */
  readonly dir: string;
  /** Bundles of the operators; default: the sources. The old release brings the first version operator, the next one the second. */
  readonly programs?: {
    readonly upgradeOperator?: string;
    readonly versionOperators?: readonly [old: string | undefined, next: string | undefined];
  };
}

/** A cluster that is run from a release by both operators, as processes. */
export interface ManagedCluster extends AsyncDisposable {
  readonly server: ApiServer;
  readonly client: Client;
  /** Waits until the cluster is sent to the next release, brings its version operator, and waits until the UpgradeConfig says that it is through. */
  followUpgrade(): Promise<void>;
}

/** Installs the old release; resolves when the next one is offered and the upgrade operator runs. */
export async function startManagedCluster(options: ManagedClusterOptions): Promise<ManagedCluster> {
  const { releases, channel, prepare, patienceMs, dir, programs = {} } = options;
  const [old, next] = releases;
  await using starting = new AsyncDisposableStack();
  const server = starting.use(await startApiServer());
  const client = await server.client();
  await prepare(client);
  await client.patch(ClusterVersion, { name: 'version' }, { spec: { channel } }, { type: 'merge' });
  const updates = starting.use(await startUpdateService());
  updates.setGraph({ nodes: releases.map(({ version, image }) => ({ version, payload: image, metadata: {} })), edges: [[0, 1]] });
  starting.use(await startFakeOperators({ client, releases: releases.map(({ script }) => script), updateDelayMs: 200 }));

  // As its Deployment would do it: the release that is asked for brings its own operator.
  const startVersionOperator = ({ version, image, folder }: ClusterRelease, program = 'apps/version-operator/src/main.ts') =>
    startProgram({
      name: `version-operator-${version}`,
      entry: program,
      args: [...['--kubeconfig', server.kubeconfig, '--update-service', updates.url], ...['--payload', folder, '--image', image]],
      dir,
      isReady: () => true,
    });
  const statusOf = async () => (await client.get(ClusterVersion, { name: 'version' }))?.status;
  const first = await startVersionOperator(old, programs.versionOperators?.[0]);
  starting.defer(async () => first.stop());
  await eventually(async () => (await statusOf())?.history?.[0]?.state === 'Completed', `${old.version} to be applied`, patienceMs);
  const isOffered = async () => (await statusOf())?.availableUpdates?.some(({ version }) => version === next.version);
  await eventually(isOffered, 'the update to be offered', 60_000);
  await untilServed(client);
  await createSmallCluster(client, { version: old.version, withoutVersion: true });
  starting.use(await startClusterActors({ client, offers: {}, withoutVersion: true }));

  const prometheus = starting.use(await startPrometheus());
  const alertmanager = starting.use(await startAlertmanager());
  await client.create(Namespace, { metadata: { name: OPERATOR_NAMESPACE } });
  const { name, key } = OPERATOR_CONFIG_MAP;
  await client.create(ConfigMap, { metadata: { name, namespace: OPERATOR_NAMESPACE }, data: { [key]: CONFIGURATION } });
  const urls = ['--prometheus-url', prometheus.url, '--alertmanager-url', alertmanager.url];
  const operator = await startUpgradeOperator(server.kubeconfig, dir, [...urls, '--retry-seconds', '2'], programs.upgradeOperator);
  starting.defer(async () => operator.stop());

  const running = starting.move();
  const isSent = async () => (await client.get(ClusterVersion, { name: 'version' }))?.spec.desiredUpdate?.version === next.version;
  const isThrough = async () => (await client.get(UpgradeConfig, UPGRADE_CONFIG))?.status?.history?.[0]?.phase === 'Upgraded';
  return {
    server,
    client,
    async followUpgrade() {
      await eventually(isSent, 'the cluster to be sent to the new version', 60_000);
      await first.stop();
      const second = await startVersionOperator(next, programs.versionOperators?.[1]);
      running.defer(async () => second.stop());
      await eventually(isThrough, 'the upgrade', patienceMs);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Nodes, pools and machines may be kinds of the release: a definition is established a moment before its kind is served. */
async function untilServed(client: Client): Promise<void> {
  const isServed = () =>
    client.list(MachineConfigPool).then(
      () => true,
      (error: unknown) => !isNotFound(error),
    );
  await eventually(isServed, 'MachineConfigPools to be served');
}
