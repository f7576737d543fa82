import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
import { applyCrds } from '../../fixtures/crds.ts';
import { eventually } from '../../fixtures/eventually.ts';

const [OLD, NEW] = ['4.14.9', '4.14.12'];
const OPERATORS = ['etcd', 'network'];
const REF = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
const annotations = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
const CONFIGURATION = 'maintenance: {controlPlaneTime: 90}\nscale: {timeOut: 30}\nnodeDrain: {timeOut: 45, expectedNodeDrainTime: 8}\n';

/** A release: each operator has its Deployment, and reports before the next is touched. */
async function writeRelease(folder: string, version: string): Promise<string> {
  const root = join(folder, version);
  const write = (name: string, content: unknown) => writeFile(join(root, name), JSON.stringify(content));
  await mkdir(join(root, 'manifests'), { recursive: true });
  await mkdir(join(root, 'release-manifests'));
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'openshift-cluster-version', annotations } };
  await write('manifests/0000_00_own_00_namespace.json', namespace);
  await write('release-manifests/release-metadata', { kind: 'cincinnati-metadata-v0', version });
  const references = { kind: 'ImageStream', apiVersion: 'image.openshift.io/v1', metadata: { name: version }, spec: { tags: [] } };
  await write('release-manifests/image-references', references);
  for (const [index, name] of OPERATORS.entries()) {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: `${name}:${version}` }] } };
    await write(`release-manifests/0000_${index + 1}0_${name}_10_deployment.json`, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'default', annotations },
      spec: { selector: { matchLabels: labels }, template },
    });
    await write(`release-manifests/0000_${index + 1}0_${name}_20_clusteroperator.json`, {
      apiVersion: 'config.openshift.io/v1',
      kind: 'ClusterOperator',
      metadata: { name, annotations },
      status: { versions: [{ name: 'operator', version }] },
    });
  }
  return root;
}

const scriptOf = (version: string) => ({
  version,
  operators: Object.fromEntries(
    OPERATORS.map((name) => [
      name,
      { versions: [{ name: 'operator', version }], deployments: [{ namespace: 'default', name, image: `${name}:${version}` }] },
    ]),
  ),
});

test('an UpgradeConfig has the version operator apply a release, and ends when all of the cluster has it', async () => {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-chain-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const server = stack.use(await startApiServer());
  const client = await server.client();
  await applyCrds(client, [...managedCrds(), ...configCrds(), ...machineCrds()]);
  const updates = stack.use(await startUpdateService());
  const nodes = [OLD, NEW].map((version) => ({ version, payload: releaseImage(version), metadata: {} }));
  updates.setGraph({ nodes, edges: [[0, 1]] });
  await createSmallCluster(client, { version: OLD, withoutVersion: true });
  const spec = { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e', channel: 'stable-4.14' };
  await client.create(ClusterVersion, { metadata: { name: 'version' }, spec });
  stack.use(await startFakeOperators({ client, releases: [scriptOf(OLD), scriptOf(NEW)], updateDelayMs: 200 }));
  stack.use(await startClusterActors({ client, offers: {}, withoutVersion: true }));

  // As its Deployment would do it: the release that is asked for brings its own operator.
  const startVersionOperator = async (version: string) =>
    startProgram({
      name: `version-operator-${version}`,
      entry: 'apps/version-operator/src/main.ts',
      args: [
        ...['--kubeconfig', server.kubeconfig, '--update-service', updates.url],
        ...['--payload', await writeRelease(dir, version), '--image', releaseImage(version)],
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
  for (const operatorName of OPERATORS) {
    const applied = await client.get(Deployment, { namespace: 'default', name: operatorName });
    expect(JSON.stringify(applied?.spec)).toContain(`${operatorName}:${NEW}`);
    const reported = await client.get(ClusterOperator, { name: operatorName });
    expect(reported?.status?.versions).toEqual([{ name: 'operator', version: NEW }]);
  }
  const { items } = await client.list(Node, { labelSelector: 'node-role.kubernetes.io/worker' });
  const configurations = items.map(({ metadata }) => metadata.annotations?.['machineconfiguration.openshift.io/currentConfig']);
  expect(new Set(configurations)).toEqual(new Set([`rendered-worker-${NEW}`]));
});
