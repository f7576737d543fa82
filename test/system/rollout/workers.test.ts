import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import type { TestHub } from '../../integration/embedded-hub.ts';
import { expectOrderlyBatches } from '../../integration/rollout/orderly.ts';
import { RolloutWorld, spokeNames } from '../../integration/rollout/world.ts';
import { eachAttempt } from '../../integration/world.ts';
import { type RunningProgram, startWorker } from '../../support/programs.ts';
import { startRedis, type TestRedis } from '../precache/redis.ts';

const CLUSTERS = spokeNames(24, 'shared');

let dir: string;
let redis: TestRedis | undefined;
let world: RolloutWorld;
const workers: RunningProgram[] = [];

const start = async (name: string): Promise<RunningProgram> => {
  const worker = await startWorker(world.server.kubeconfig, dir, redis?.url ?? '', { name, args: ['--log-level', 'debug'] });
  workers.push(worker);
  return worker;
};

eachAttempt(
  async () => {
    dir = await mkdtemp(join(tmpdir(), 'flotilla-workers-'));
    redis = await startRedis(dir);
    if (redis)
      world = await RolloutWorld.start({
        processes: true,
        spokes: CLUSTERS,
        hubArgs: ['--redis-url', redis.url, '--step-concurrency', '1'],
      });
    else console.log('skipped: redis-server is not on PATH');
  },
  async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
    await world?.stop();
    await redis?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  },
);

test('workers take steps; one that is killed and a queue that is emptied cost time alone', async ({ skip }) => {
  if (!redis) return skip('redis-server is not on PATH');
  const [first, second] = await Promise.all([start('worker-1'), start('worker-2')]);
  await world.policies(CLUSTERS, { 'shared-p': {} });
  await world.upgrade('shared', CLUSTERS, ['shared-p'], {
    remediationStrategy: { maxConcurrency: 6, timeout: 240 },
    actions: {
      beforeEnable: { addClusterLabels: { upgrading: '' } },
      afterCompletion: { addClusterLabels: { upgraded: '' }, removeClusterLabels: ['upgrading'] },
    },
  });
  await world.untilInProgress('shared', 'shared-1');
  await first.stop({ signal: 'SIGKILL' });
  await redis.flushAll();
  await world.untilCompleted('shared', 100_000);

  await expectOrderlyBatches(world, 'shared');
  expect((await world.recorded('shared')).sort()).toEqual(CLUSTERS.map((cluster) => `${cluster}: complete`).sort());
  for (const cluster of CLUSTERS) expect(await world.labels(cluster)).toEqual({ name: cluster, upgraded: '' });
  const wrote = async (kind: string, program: TestHub | undefined) =>
    ((await program?.output()) ?? '').split('\n').some((line) => line.includes('Wrote') && line.includes(`"${kind}"`));
  expect([await wrote('ManagedCluster', second), await wrote('ManagedCluster', world.hub)]).toEqual([true, true]);
  await eventually(async () => (await wrote('Placement', second)) || wrote('Placement', world.hub));
});
