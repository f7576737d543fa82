import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeObject } from '@flotilla/api';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { CustomResourceDefinition, Deployment } from '@flotilla/api/core';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { createRandom, startFakeOperators } from '@flotilla/control-plane/simulators';
import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { type RunningProgram, startProgram } from '../../../tools/src/fleets/programs.ts';
import { AUDIT_IN_ONE_FILE, readAuditLog } from '../../fixtures/audit-log.ts';
import { eventually } from '../../fixtures/eventually.ts';

const LEVELS = ['10', '20', '30', '40'];
const image = (version: string) => `release.test/release:${version}`;
const annotations = { 'include.release.openshift.io/self-managed-high-availability': 'true' };

/** A release of one operator a level: each is to report before the next is touched. */
async function writeRelease(folder: string, version: string): Promise<string> {
  const root = join(folder, version);
  const write = (name: string, content: unknown) => writeFile(join(root, name), JSON.stringify(content));
  await mkdir(join(root, 'manifests'), { recursive: true });
  await mkdir(join(root, 'release-manifests'));
  await write('manifests/0000_00_own_00_namespace.json', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'openshift-cluster-version', annotations },
  });
  await write('release-manifests/release-metadata', { kind: 'cincinnati-metadata-v0', version });
  const tags = [{ name: 'cli', from: { kind: 'DockerImage', name: image(version) } }];
  const references = { kind: 'ImageStream', apiVersion: 'image.openshift.io/v1', metadata: { name: version }, spec: { tags } };
  await write('release-manifests/image-references', references);
  for (const level of LEVELS) {
    const name = `level-${level}`;
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: `${name}:${version}` }] } };
    await write(`release-manifests/0000_${level}_${name}_10_deployment.json`, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'default', annotations },
      spec: { selector: { matchLabels: labels }, template },
    });
    await write(`release-manifests/0000_${level}_${name}_20_clusteroperator.json`, {
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
    LEVELS.map((level) => [
      `level-${level}`,
      {
        versions: [{ name: 'operator', version }],
        deployments: [{ namespace: 'default', name: `level-${level}`, image: `level-${level}:${version}` }],
      },
    ]),
  ),
});

async function bootstrapped(server: ApiServer): Promise<Client> {
  const client = await server.client();
  for (const crd of configCrds()) await client.create(CustomResourceDefinition, KubeObject.parse(crd));
  const version = KubeObject.parse({ metadata: { name: 'version' }, spec: { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e' } });
  await eventually(() => client.create(ClusterVersion, version).catch(() => undefined));
  return client;
}

const completed = (client: Client, version: string) =>
  eventually(
    async () => {
      const [newest] = (await client.get(ClusterVersion, { name: 'version' }))?.status?.history ?? [];
      return newest?.state === 'Completed' && newest.version === version;
    },
    90_000,
    `the end of ${version}`,
  );

test('an operator that is killed at any moment of an update is followed by one that ends it in the same order', {
  timeout: 300_000,
}, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-killed-'));
  const auditLog = join(dir, 'audit.log');
  await using server = await startApiServer({ auditLogPath: auditLog, flags: [AUDIT_IN_ONE_FILE] });
  const client = await bootstrapped(server);
  const folders = [await writeRelease(dir, '4.1.0'), await writeRelease(dir, '4.1.1')];
  await using _operators = await startFakeOperators({ client, releases: [scriptOf('4.1.0'), scriptOf('4.1.1')], updateDelayMs: 1_000 });
  const start = (index: number): Promise<RunningProgram> =>
    startProgram({
      name: 'version-operator',
      entry: 'apps/version-operator/src/main.ts',
      args: ['--kubeconfig', server.kubeconfig, '--payload', folders[index] ?? '', '--image', image(`4.1.${index}`)],
      dir,
      isReady: () => true,
    });
  const first = await start(0);
  await completed(client, '4.1.0');
  await first.stop();
  const desiredUpdate = { version: '4.1.1', image: image('4.1.1') };
  await client.patch(ClusterVersion, { name: 'version' }, { spec: { desiredUpdate } }, { type: 'merge' });

  const random = createRandom(7);
  for (let kills = 0; kills < 3; kills++) {
    const killed = await start(1);
    // a lease that nobody gave back lasts for fifteen seconds
    await eventually(async () => (await killed.output()).includes('Loaded the release'), 60_000, 'the operator to lead');
    await new Promise((resolve) => setTimeout(resolve, 200 + random() * 1_500));
    await killed.stop({ signal: 'SIGKILL' });
  }
  const last = await start(1);
  await completed(client, '4.1.1');
  await last.stop();

  const version = await client.get(ClusterVersion, { name: 'version' });
  expect(version?.status?.history?.map(({ version: of, state }) => [of, state])).toEqual([
    ['4.1.1', 'Completed'],
    ['4.1.0', 'Completed'],
  ]);
  for (const level of LEVELS)
    expect(JSON.stringify((await client.get(Deployment, { namespace: 'default', name: `level-${level}` }))?.spec)).toContain(
      `level-${level}:4.1.1`,
    );
  // one write of each Deployment and one report of each operator for the second release, and no level before the one below it has reported
  const order: string[] = [];
  for await (const { verb, objectRef } of readAuditLog(auditLog)) {
    const isDeployment = objectRef?.resource === 'deployments' && !objectRef.subresource && verb === 'update';
    const isReport = objectRef?.resource === 'clusteroperators' && objectRef.subresource === 'status' && verb === 'patch';
    if (isDeployment || isReport) order.push(`${isDeployment ? 'write' : 'report'} ${objectRef.name}`);
  }
  const begun = order.indexOf('write level-10');
  expect(order.slice(begun)).toEqual(LEVELS.flatMap((level) => [`write level-${level}`, `report level-${level}`]));
  await rm(dir, { recursive: true, force: true });
});
