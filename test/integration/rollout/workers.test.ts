import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../fixtures/eventually.ts';
import { type RunningProgram, startProgram } from '../../fixtures/programs.ts';
import { startRedis, type TestRedis } from '../precache/redis.ts';
import { expectOrderlyBatches } from './orderly.ts';
import { RolloutWorld, spokeNames } from './world.ts';

const CLUSTERS = spokeNames(24, 'shared');

let dir: string;
let redis: TestRedis | undefined;
let world: RolloutWorld;
const workers: RunningProgram[] = [];

const startWorker = async (name: string): Promise<RunningProgram> => {
  const args = ['--role', 'worker', '--kubeconfig', world.server.kubeconfig, '--redis-url', redis?.url ?? ''];
  const worker = await startProgram({
    name,
    entry: 'apps/hub/src/main.ts',
    args: [...args, '--http-port', '0', '--http-host', '127.0.0.1', '--log-level', 'debug'],
    dir,
    isReady: (output) => output.includes('Worker takes steps'),
  });
  workers.push(worker);
  return worker;
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-workers-'));
  redis = await startRedis(dir);
  if (redis) world = await RolloutWorld.start({ spokes: CLUSTERS, hubArgs: ['--redis-url', redis.url, '--step-concurrency', '1'] });
  else console.log('skipped: redis-server is not on PATH');
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await world?.stop();
  await redis?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

test('workers take steps; one that is killed and a queue that is emptied cost time alone', async ({ skip }) => {
  if (!redis) return skip('redis-server is not on PATH');
  const [first, second] = await Promise.all([startWorker('worker-1'), startWorker('worker-2')]);
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
  const wrote = async (program: RunningProgram | undefined) => (await program?.output())?.includes('Rollout step wrote') ?? false;
  expect([await wrote(second), await wrote(world.hub)]).toEqual([true, true]);
  await eventually(async () => (await second?.output())?.includes('Batch wrote') || (await world.hub?.output())?.includes('Batch wrote'));
});
