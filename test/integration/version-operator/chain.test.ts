import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterOperator, ClusterVersion, configCrds } from '@flotilla/api/config';
import { ConfigMap, Deployment, Namespace, Node } from '@flotilla/api/core';
import { machineCrds } from '@flotilla/api/machine';
import { managedCrds, OPERATOR_CONFIG_MAP, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { startAlertmanager, startApiServer, startPrometheus, startUpdateService } from '@flotilla/control-plane/servers';
import { createSmallCluster, releaseImage, startClusterActors, startFakeOperators } from '@flotilla/control-plane/simulators';
import { expect, test } from 'vitest';
import { startProgram, startUpgradeOperator } from '../../../tools/src/fleets/programs.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { scriptOf, writeSmallRelease } from '../../fixtures/small-release.ts';

const [OLD, NEW] = ['4.14.9', '4.14.12'];
const OPERATORS = [
  { level: '10', name: 'etcd' },
  { level: '20', name: 'network' },
];
const REF = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
const CONFIGURATION = 'maintenance: {controlPlaneTime: 90}\nscale: {timeOut: 30}\nnodeDrain: {timeOut: 45, expectedNodeDrainTime: 8}\n';

test('an UpgradeConfig has the version operator apply a release, and ends when all of the cluster has it', async () => {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-chain-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const server = stack.use(await startApiServer({ crds: [...managedCrds(), ...configCrds(), ...machineCrds()] }));
  const client = await server.client();
  const updates = stack.use(await startUpdateService());
  const nodes = [OLD, NEW].map((version) => ({ version, payload: releaseImage(version), metadata: {} }));
  updates.setGraph({ nodes, edges: [[0, 1]] });
  await createSmallCluster(client, { version: OLD, withoutVersion: true });
  const spec = { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e', channel: 'stable-4.14' };
  await client.create(ClusterVersion, { metadata: { name: 'version' }, spec });
  stack.use(await startFakeOperators({ client, releases: [scriptOf(OLD, OPERATORS), scriptOf(NEW, OPERATORS)], updateDelayMs: 200 }));
  stack.use(await startClusterActors({ client, offers: {}, withoutVersion: true }));

  // As its Deployment would do it: the release that is asked for brings its own operator.
  const startVersionOperator = async (version: string) =>
    startProgram({
      name: `version-operator-${version}`,
      entry: 'apps/version-operator/src/main.ts',
      args: [
        ...['--kubeconfig', server.kubeconfig, '--update-service', updates.url],
        ...['--payload', await writeSmallRelease(dir, version, OPERATORS), '--image', releaseImage(version)],
      ],
      dir,
      isReady: () => true,
    });
  const versionOf = async () => (await client.get(ClusterVersion, { name: 'version' }))?.status;
  const first = await startVersionOperator(OLD);
  await eventually(async () => (await versionOf())?.history?.[0]?.state === 'Completed', 90_000, `${OLD} to be applied`);
  await eventually(
    async () => (await versionOf())?.availableUpdates?.some(({ version }) => version === NEW),
    60_000,
    'the update to be offered',
  );

  const prometheus = stack.use(await startPrometheus());
  const alertmanager = stack.use(await startAlertmanager());
  await client.create(Namespace, { metadata: { name: OPERATOR_NAMESPACE } });
  const { name, key } = OPERATOR_CONFIG_MAP;
  await client.create(ConfigMap, { metadata: { name, namespace: OPERATOR_NAMESPACE }, data: { [key]: CONFIGURATION } });
  const urls = ['--prometheus-url', prometheus.url, '--alertmanager-url', alertmanager.url];
  const operator = await startUpgradeOperator(server.kubeconfig, dir, [...urls, '--retry-seconds', '2']);
  stack.defer(async () => operator.stop());
  const desired = { version: NEW, channel: 'stable-4.14' };
  const upgradeAt = new Date(Date.now() - 1000).toISOString();
  await client.create(UpgradeConfig, {
    metadata: REF,
    spec: { type: 'OSD', upgradeAt, PDBForceDrainTimeout: 60, desired, capacityReservation: true },
  });

  const isSent = async () => (await client.get(ClusterVersion, { name: 'version' }))?.spec.desiredUpdate?.version === NEW;
  await eventually(isSent, 60_000, 'the cluster to be sent to the new version');
  await first.stop();
  const second = await startVersionOperator(NEW);
  stack.defer(async () => second.stop());
  const entry = async () => (await client.get(UpgradeConfig, REF))?.status?.history?.[0];
  await eventually(async () => (await entry())?.phase === 'Upgraded', 120_000, 'the upgrade');

  expect((await entry())?.conditions?.filter(({ status }) => status !== 'True')).toEqual([]);
  expect((await versionOf())?.history?.map(({ version, state }) => `${version} ${state}`)).toEqual([
    `${NEW} Completed`,
    `${OLD} Completed`,
  ]);
  for (const { name: operatorName } of OPERATORS) {
    const applied = await client.get(Deployment, { namespace: 'default', name: operatorName });
    expect(JSON.stringify(applied?.spec)).toContain(`${operatorName}:${NEW}`);
    const reported = await client.get(ClusterOperator, { name: operatorName });
    expect(reported?.status?.versions).toEqual([{ name: 'operator', version: NEW }]);
  }
  const { items } = await client.list(Node, { labelSelector: 'node-role.kubernetes.io/worker' });
  const configurations = items.map(({ metadata }) => metadata.annotations?.['machineconfiguration.openshift.io/currentConfig']);
  expect(new Set(configurations)).toEqual(new Set([`rendered-worker-${NEW}`]));
});
