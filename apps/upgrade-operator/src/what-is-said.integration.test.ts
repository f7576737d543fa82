/** An operator's conditions as people see them, and its gauges after a restart. */
import { UpgradeConfig } from '@flotilla/api/managed';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { type ClusterActors, clearCluster, createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { MemoryWorld } from '../testing/memory-world.ts';
import { CASE_REF, createUpgrade, installKinds, type RunningOperator, readEntry, startOperator } from '../testing/operator-case.ts';
import type { Ports } from './ports.ts';

const TARGET = '4.14.12';
const OTHER = { ...CASE_REF, name: 'my-upgrade' };

let server: ApiServer;
let client: Client;
let actors: ClusterActors;
let world: MemoryWorld;
let operator: RunningOperator | undefined;

beforeAll(async () => {
  server = await startApiServer();
  client = await server.client();
  await installKinds(client);
});
afterAll(async () => {
  await server?.stop();
});
beforeEach(async () => {
  world = new MemoryWorld();
  await createSmallCluster(client);
  actors = await startClusterActors({ client, offers: { 'stable-4.14': [TARGET] } });
});
afterEach(async () => {
  await operator?.stop();
  operator = undefined;
  await actors.stop();
  for (const ref of [CASE_REF, OTHER]) await client.delete(UpgradeConfig, ref);
  await clearCluster(client);
});

const untilPhase = (phase: string) => eventually(async () => (await readEntry(client))?.phase === phase, `phase ${phase}`, 60_000);
const conditionOf = async (type: string) => (await readEntry(client))?.conditions?.find((condition) => condition.type === type);

test('another process has the gauges that follow from the status', async () => {
  operator = startOperator(client, world);
  await createUpgrade(client);
  await untilPhase('Upgraded');
  const lasting = (one: MemoryWorld) =>
    Object.fromEntries([...one.metrics].filter(([name]) => !name.startsWith('result') && !name.startsWith('drainTimeout')));
  await eventually(() => 'moment upgrade_completed 4.14.12' in lasting(world), 'the last moment');
  const before = lasting(world);
  await operator.stop();

  const restarted = new MemoryWorld();
  operator = startOperator(client, restarted);
  await eventually(() => 'moment upgrade_completed 4.14.12' in lasting(restarted), 'the moments');
  expect(lasting(restarted)).toEqual(before);
  expect(before).toMatchObject({ 'notificationSent StateCompleted': TARGET, windowBreached: false, validationFailed: false });
});

test('keys of the configuration that are not known are told, and hold nothing up', async () => {
  const remark = 'keys that are not known count for nothing: scale.timeout (known here: timeOut)';
  class RemarkingWorld extends MemoryWorld {
    override get ports(): Ports {
      const { config, ...ports } = super.ports;
      return { ...ports, config: { ...config, current: () => ({ ...config.current(), remark }) } };
    }
  }
  operator = startOperator(client, new RemarkingWorld());
  await createUpgrade(client);
  await untilPhase('Upgraded');
  expect(await conditionOf('OperatorConfigured')).toMatchObject({ status: 'True', reason: 'ConfigurationHasUnknownKeys', message: remark });
});

test('an UpgradeConfig of another name says that it does not count, and the one that counts is carried out', async () => {
  operator = startOperator(client, world);
  const { spec } = await createUpgrade(client);
  await client.create(UpgradeConfig, { metadata: OTHER, spec: { ...spec, desired: { version: '4.14.13', channel: 'stable-4.14' } } });
  const said = async () => (await client.get(UpgradeConfig, OTHER))?.status?.history;
  await eventually(async () => (await said())?.length === 1, 'a word of it');
  expect(await said()).toMatchObject([
    {
      version: '4.14.13',
      phase: 'New',
      conditions: [
        {
          type: 'Validated',
          status: 'False',
          reason: 'NameNotActedUpon',
          message: expect.stringContaining('named managed-upgrade-config'),
        },
      ],
    },
  ]);
  await untilPhase('Upgraded');
  expect((await readEntry(client))?.version).toBe(TARGET);
});
