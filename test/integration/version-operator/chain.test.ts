import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterOperator, ClusterVersion, configCrds } from '@flotilla/api/config';
import { ConfigMap, Deployment, Namespace, Node } from '@flotilla/api/core';
import { MachineConfigPool } from '@flotilla/api/machine';
import { managedCrds, OPERATOR_CONFIG_MAP, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { machineCrds } from '@flotilla/api/testing';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { startAlertmanager, startApiServer, startPrometheus, startUpdateService } from '@flotilla/control-plane/servers';
import {
  createSmallCluster,
  OperatorScript,
  releaseImage,
  startClusterActors,
  startFakeOperators,
} from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { type Client, isNotFound } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { startProgram, startUpgradeOperator } from '../../../tools/src/fleets/programs.ts';
import { bootstrap } from '../../bench/payload/bootstrap.ts';
import { payloads } from '../../bench/payload/payload-run.ts';
import { applyCrds } from '../../fixtures/crds.ts';
import { scriptOf, writeSmallRelease } from '../../fixtures/small-release.ts';

const REF = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
const CONFIGURATION = 'maintenance: {controlPlaneTime: 90}\nscale: {timeOut: 30}\nnodeDrain: {timeOut: 45, expectedNodeDrainTime: 8}\n';

/** A release as the chain goes from, or to. */
interface Release {
  readonly version: string;
  readonly image: string;
  /** Its payload. */
  readonly folder: string;
  /** What its operators report, and when. */
  readonly script: OperatorScript;
}

/** A release of two operators: each has its Deployment, and reports before the next is touched. */
async function smallRelease(dir: string, version: string): Promise<Release> {
  const operators = [
    { level: '10', name: 'etcd' },
    { level: '20', name: 'network' },
  ];
  const folder = await writeSmallRelease(dir, version, operators);
  return { version, image: releaseImage(version), folder, script: scriptOf(version, operators) };
}

/** A release of real size, from the folder that the environment names. */
async function realRelease(dir: string, which: keyof typeof payloads): Promise<Release> {
  const folder = join(dir, which);
  const script = OperatorScript.parse(JSON.parse(await readFile(join(folder, 'operators.json'), 'utf8')));
  return { ...payloads[which], folder, script };
}

interface Chain {
  readonly releases: readonly [old: Release, next: Release];
  readonly channel: string;
  /** Makes of an empty cluster one that a release can be installed on, with its ClusterVersion. */
  readonly prepare: (client: Client) => Promise<void>;
  /** Longest time for an installation or an update. */
  readonly patienceMs: number;
}

/** From an UpgradeConfig to a cluster that has the next release, with the programs as their users start them. */
async function upgradeBy({ releases, channel, prepare, patienceMs }: Chain): Promise<void> {
  const [old, next] = releases;
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-chain-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const server = stack.use(await startApiServer());
  const client = await server.client();
  await prepare(client);
  await client.patch(ClusterVersion, { name: 'version' }, { spec: { channel } }, { type: 'merge' });
  const updates = stack.use(await startUpdateService());
  updates.setGraph({ nodes: releases.map(({ version, image }) => ({ version, payload: image, metadata: {} })), edges: [[0, 1]] });
  stack.use(await startFakeOperators({ client, releases: releases.map(({ script }) => script), updateDelayMs: 200 }));

  // As its Deployment would do it: the release that is asked for brings its own operator.
  const startVersionOperator = ({ version, image, folder }: Release) =>
    startProgram({
      name: `version-operator-${version}`,
      entry: 'apps/version-operator/src/main.ts',
      args: [...['--kubeconfig', server.kubeconfig, '--update-service', updates.url], ...['--payload', folder, '--image', image]],
      dir,
      isReady: () => true,
    });
  const statusOf = async () => (await client.get(ClusterVersion, { name: 'version' }))?.status;
  const first = await startVersionOperator(old);
  stack.defer(async () => first.stop());
  await eventually(async () => (await statusOf())?.history?.[0]?.state === 'Completed', `${old.version} to be applied`, patienceMs);
  await eventually(
    async () => (await statusOf())?.availableUpdates?.some(({ version }) => version === next.version),
    'the update to be offered',
    60_000,
  );
  // Nodes, pools and machines, whose kinds the release may have brought: a definition is established a moment before its kind is served.
  const isServed = () =>
    client.list(MachineConfigPool).then(
      () => true,
      (error: unknown) => !isNotFound(error),
    );
  await eventually(isServed, 'MachineConfigPools to be served');
  await createSmallCluster(client, { version: old.version, withoutVersion: true });
  stack.use(await startClusterActors({ client, offers: {}, withoutVersion: true }));

  const prometheus = stack.use(await startPrometheus());
  const alertmanager = stack.use(await startAlertmanager());
  await client.create(Namespace, { metadata: { name: OPERATOR_NAMESPACE } });
  const { name, key } = OPERATOR_CONFIG_MAP;
  await client.create(ConfigMap, { metadata: { name, namespace: OPERATOR_NAMESPACE }, data: { [key]: CONFIGURATION } });
  const urls = ['--prometheus-url', prometheus.url, '--alertmanager-url', alertmanager.url];
  const operator = await startUpgradeOperator(server.kubeconfig, dir, [...urls, '--retry-seconds', '2']);
  stack.defer(async () => operator.stop());
  const upgradeAt = new Date(Date.now() - 1000).toISOString();
  const desired = { version: next.version, channel };
  await client.create(UpgradeConfig, {
    metadata: REF,
    spec: { type: 'OSD', upgradeAt, PDBForceDrainTimeout: 60, desired, capacityReservation: true },
  });

  const isSent = async () => (await client.get(ClusterVersion, { name: 'version' }))?.spec.desiredUpdate?.version === next.version;
  await eventually(isSent, 'the cluster to be sent to the new version', 60_000);
  await first.stop();
  const second = await startVersionOperator(next);
  stack.defer(async () => second.stop());
  const entry = async () => (await client.get(UpgradeConfig, REF))?.status?.history?.[0];
  await eventually(async () => (await entry())?.phase === 'Upgraded', 'the upgrade', patienceMs);

  expect((await entry())?.conditions?.filter(({ status }) => status !== 'True')).toEqual([]);
  expect((await statusOf())?.history?.map(({ version, state }) => `${version} ${state}`)).toEqual([
    `${next.version} Completed`,
    `${old.version} Completed`,
  ]);
  for (const [operatorName, { versions, deployments }] of Object.entries(next.script.operators)) {
    const reported = await client.get(ClusterOperator, { name: operatorName });
    expect(reported?.status?.versions, operatorName).toEqual(versions);
    for (const { namespace, name: deployment, image } of deployments)
      expect(JSON.stringify((await client.get(Deployment, { namespace, name: deployment }))?.spec), deployment).toContain(image);
  }
  const { items } = await client.list(Node, { labelSelector: 'node-role.kubernetes.io/worker' });
  const configurations = items.map(({ metadata }) => metadata.annotations?.['machineconfiguration.openshift.io/currentConfig']);
  expect(new Set(configurations)).toEqual(new Set([`rendered-worker-${next.version}`]));
}

test('an UpgradeConfig has the version operator apply a release, and ends when all of the cluster has it', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-releases-'));
  try {
    await upgradeBy({
      releases: [await smallRelease(dir, '4.14.9'), await smallRelease(dir, '4.14.12')],
      channel: 'stable-4.14',
      patienceMs: 120_000,
      async prepare(client) {
        await applyCrds(client, [...managedCrds(), ...configCrds(), ...machineCrds()]);
        const spec = { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e' };
        await client.create(ClusterVersion, { metadata: { name: 'version' }, spec });
      },
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test('the same with a release of real size', { timeout: 1_200_000 }, async ({ skip }) => {
  const { payloadsDir: dir } = readEnvironment();
  if (dir === undefined || !existsSync(join(dir, 'next', 'operators.json')))
    return skip('FLOTILLA_PAYLOADS names no folder with the payloads real and next, each with its operators.json');
  const releases = [await realRelease(dir, 'real'), await realRelease(dir, 'next')] as const;
  await upgradeBy({
    releases,
    channel: 'stable-4.22',
    patienceMs: 480_000,
    async prepare(client) {
      await bootstrap(client, { folders: releases.map(({ folder }) => folder) });
      await applyCrds(client, managedCrds());
    },
  });
});
