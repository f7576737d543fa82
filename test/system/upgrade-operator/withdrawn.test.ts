import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterVersion } from '@flotilla/api/config';
import { MACHINE_NAMESPACE, MachineSet } from '@flotilla/api/machine';
import { OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { KilledCluster } from './killed-cluster.ts';

const REF = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
const CHANNEL = 'stable-4.14';
const NEXT = '4.15.9';
const policy = (atMs: number, version: string) => ({
  id: 'p',
  version,
  next_run: `${new Date(atMs).toISOString().slice(0, 19)}Z`,
  capacity_reservation: true,
});
const later = () => Date.now() + 3_600_000;

/** Somebody does this while no operator runs, and then the history of the UpgradeConfig begins with this; undefined: there is none. */
const WAYS: readonly {
  readonly way: string;
  readonly act: (cluster: KilledCluster, version: string) => unknown;
  readonly end?: (version: string) => string;
}[] = [
  { way: 'policy gone', act: ({ manager }) => manager.setPolicies([]) },
  {
    way: 'CR and policy gone',
    act: ({ manager, client }) => {
      manager.setPolicies([]);
      return client.delete(UpgradeConfig, REF);
    },
  },
  {
    way: 'other version',
    act: ({ manager }) => manager.setPolicies([policy(later(), NEXT)]),
    end: (version) => `${NEXT} Pending, ${version} Failed`,
  },
  {
    way: 'other time',
    act: ({ manager }, version) => manager.setPolicies([policy(later(), version)]),
    end: (version) => `${version} Pending, ${version} Failed`,
  },
];

/** Extra workers, silences that stand, and another channel than before. */
async function madeFor(cluster: KilledCluster): Promise<readonly string[]> {
  const { items } = await cluster.client.list(MachineSet, { namespace: MACHINE_NAMESPACE });
  const version = await cluster.client.get(ClusterVersion, { name: 'version' });
  return [
    ...items.flatMap(({ metadata }) => (metadata.name.endsWith('-upgrade') ? ['extra workers'] : [])),
    ...(await cluster.silences()).flatMap(({ status, comment }) => (status.state === 'expired' ? [] : [comment])),
    ...(version?.spec.channel === CHANNEL ? [] : ['channel']),
  ];
}

const historyOf = async ({ client }: KilledCluster) =>
  ((await client.get(UpgradeConfig, REF))?.status?.history ?? []).map(({ version, phase }) => `${version} ${phase}`).join(', ');

test('an upgrade that waits to be sent, killed by SIGKILL and withdrawn while nobody runs: all is taken back, and nothing is sent', {
  timeout: 600_000,
}, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-withdrawn-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const cluster = stack.use(await KilledCluster.start(dir));
  cluster.actors.setFaults({ updatesHeld: true });
  for (const [index, { way, act, end }] of WAYS.entries()) {
    // Alertmanager remembers silences of a version.
    const version = `4.15.${3 + index}`;
    cluster.manager.setPolicies([policy(Date.now() - 1_000, version)]);
    cluster.manager.setState('p', 'scheduled');
    const first = await cluster.startOperator({ inherits: false });
    await eventually(async () => (await madeFor(cluster)).length === 4, `${way}: all that is made for an upgrade`, 60_000);
    await first.stop({ signal: 'SIGKILL' });
    await act(cluster, version);
    const second = await cluster.startOperator({ inherits: false });
    await eventually(async () => (await madeFor(cluster)).length === 0, `${way}: all of it to go`, 60_000);
    if (end === undefined) await eventually(async () => (await cluster.client.get(UpgradeConfig, REF)) === undefined, 'it to go', 60_000);
    else await eventually(async () => (await historyOf(cluster)) === end(version), `${way}: its history`, 60_000);
    expect((await cluster.client.get(ClusterVersion, { name: 'version' }))?.spec.desiredUpdate).toBeUndefined();
    await second.stop();
    await cluster.client.delete(UpgradeConfig, REF);
  }
});
