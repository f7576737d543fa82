import { mkdtemp, rm } from 'node:fs/promises';
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
import { scriptOf, writeSmallRelease } from '../../fixtures/small-release.ts';

const LEVELS = ['10', '20', '30', '40'];
/** Each is to report before the next is touched. */
const OPERATORS = LEVELS.map((level) => ({ level, name: `level-${level}` }));
const image = (version: string) => `release.test/release:${version}`;

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
  const folders = [await writeSmallRelease(dir, '4.1.0', OPERATORS), await writeSmallRelease(dir, '4.1.1', OPERATORS)];
  await using _operators = await startFakeOperators({
    client,
    releases: [scriptOf('4.1.0', OPERATORS), scriptOf('4.1.1', OPERATORS)],
    updateDelayMs: 1_000,
  });
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
