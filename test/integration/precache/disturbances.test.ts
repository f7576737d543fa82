import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Lease } from '@flotilla/api/core';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect, test, vi } from 'vitest';
import { readRequestCounts } from '../../fixtures/api-metrics.ts';
import { startRelay } from './relay.ts';
import { spokeNames, World } from './world.ts';

const COMPLETED = 'True PrecachingCompleted: Precaching is completed for all clusters';
const spokes = spokeNames(10);

/** A kubeconfig for the world's API server behind a relay. */
async function relayed({ dir, server }: World, port: number): Promise<string> {
  const path = join(dir, 'relayed.kubeconfig');
  await writeFile(path, (await readFile(server.kubeconfig, 'utf8')).replace(server.url, `https://127.0.0.1:${port}`));
  return path;
}

const expectOneJobEach = (subject: World) => {
  for (const spoke of spokes) expect(subject.spokes.jobsCreated(spoke), spoke).toHaveLength(1);
};

// Each in a world of its own: most of their time is waiting for what was cut to be noticed.
vi.setConfig({ testTimeout: 300_000 });

describe('the API server', () => {
  test.concurrent('loses every connection, watches and writes alike, every two seconds', async () => {
    await using world = await World.start({ spokes, job: { seconds: 4 }, withoutHub: true });
    await using relay = await startRelay(Number(new URL(world.server.url).port));
    await world.startHubProcess({ kubeconfig: await relayed(world, relay.port) });
    let cuts = 0;
    const cutting = setInterval(() => {
      cuts += relay.cut();
    }, 2000);
    try {
      await world.upgrade('run', spokes);
      await world.untilCondition('run', 'PrecachingSuceeded', COMPLETED, 180_000);
    } finally {
      clearInterval(cutting);
    }
    await world.untilClean(spokes);
    expectOneJobEach(world);
    expect(cuts).toBeGreaterThan(3);
  });

  test.concurrent('is behind connections that fall silent in mid-run without being closed', async () => {
    await using world = await World.start({ spokes, job: { seconds: 4 }, withoutHub: true });
    await using relay = await startRelay(Number(new URL(world.server.url).port));
    await world.startHubProcess({ kubeconfig: await relayed(world, relay.port) });
    await world.upgrade('run', spokes);
    await world.untilBegun('run');
    expect(relay.silence()).toBeGreaterThan(5);
    await world.untilCondition('run', 'PrecachingSuceeded', COMPLETED, 180_000);
    await world.untilClean(spokes);
    expectOneJobEach(world);
  });

  test('is restarted in mid-run, and has forgotten the versions that were watched', async () => {
    await using world = await World.start({ processes: true, apiServer: { own: true }, spokes, job: { seconds: 6 } });
    await world.upgrade('run', spokes);
    await world.untilStates('run', { 'spoke-1': 'Active' });
    await world.server.restart({ etcd: true, forgets: true });
    await world.untilCondition('run', 'PrecachingSuceeded', COMPLETED, 180_000);
    await world.untilClean(spokes);
    expectOneJobEach(world);
    expect(world.hub?.hasExited()).toBe(false);
    // Versions from before are gone (410): the hub, and nobody else does, has read all upgrades anew; this server has counted since its start.
    expect((await readRequestCounts(world.client)).get('LIST clustergroupupgrades')).toBeGreaterThan(0);
  });
});

test.concurrent('the leader is killed and the other hub takes over', async () => {
  await using world = await World.start({ spokes, job: { seconds: 6 }, withoutHub: true });
  await using leader = await world.startHubProcess();
  const standby = await world.startHubProcess({ standby: true });
  await eventually(async () => (await standby.output()).includes('Waiting for the lease'), 'the other to wait', 60_000);
  await world.upgrade('run', spokes);
  await world.untilBegun('run');
  await leader.stop({ signal: 'SIGKILL' });
  await world.untilCondition('run', 'PrecachingSuceeded', COMPLETED, 180_000);
  await world.untilClean(spokes);
  expectOneJobEach(world);
  const lease = await world.client.get(Lease, { namespace: 'default', name: 'flotilla-hub' });
  expect(lease?.spec?.holderIdentity).toMatch(new RegExp(`-${standby.pid}$`));
});
