import { expect, test } from 'vitest';
import { spokeNames, World } from '../../integration/precache/world.ts';
import { eachAttempt } from '../../integration/world.ts';
import type { RunningProgram } from '../../support/programs.ts';
import { startRedis, type TestRedis } from './redis.ts';

const spokes = spokeNames(20);
const done = 'True PrecachingCompleted: Precaching is completed for all clusters';

let world: World;
let redis: TestRedis | undefined;
const workers: RunningProgram[] = [];

eachAttempt(
  async () => {
    world = await World.start({ spokes, job: { seconds: 4, jitter: 0.3 }, withoutHub: true });
    redis = await startRedis(world.dir);
  },
  async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
    await world?.stop();
    await redis?.[Symbol.asyncDispose]();
  },
);

async function startWorker(env: Record<string, string>): Promise<RunningProgram> {
  const worker = await world.startHubProcess({ args: ['--role', 'worker', '--step-concurrency', '4'], env, standby: true });
  workers.push(worker);
  return worker;
}

/** Objects a process created, as its own metrics say. */
async function countCreations(program: RunningProgram): Promise<number> {
  const port = /"port":(\d+)/.exec(await program.output())?.[1];
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const counts = [...metrics.matchAll(/^flotilla_api_requests_total\{([^}]*)\} (\d+)/gm)];
  return counts.reduce((sum, [, labels, count]) => sum + (labels?.includes('"POST"') ? Number(count) : 0), 0);
}

test('workers on the same Redis take steps; one that is killed costs time alone', async ({ skip }) => {
  if (!redis) return skip('redis-server is not on PATH; install it to run this test');
  const env = { REDIS_URL: redis.url };
  const [doomed, steady] = [await startWorker(env), await startWorker(env)];
  const leader = await world.startHubProcess({ args: ['--step-concurrency', '1'], env });

  await world.upgrade('shared', spokes);
  await world.untilBegun('shared');
  await doomed.stop({ signal: 'SIGKILL' });
  await world.untilCondition('shared', 'PrecachingSuceeded', done, 120_000);
  await world.untilClean(spokes);
  for (const spoke of spokes) expect(world.spokes.jobsCreated(spoke), spoke).toHaveLength(1);

  const [own, theirs] = [await countCreations(leader), await countCreations(steady)];
  process.stdout.write(`${spokes.length} spokes: the leader made ${own} objects, the worker that lived ${theirs}\n`);
  expect(theirs).toBeGreaterThan(0);
});

test('a leader that is killed leaves steps behind; workers run them, and its successor comes to the same end', async ({ skip }) => {
  if (!redis) return skip('redis-server is not on PATH; install it to run this test');
  const env = { REDIS_URL: redis.url };
  // Where the test before has not left them.
  if (workers.length === 0) await startWorker(env);
  if (!world.hub || world.hub.hasExited()) await world.startHubProcess({ args: ['--step-concurrency', '1'], env });
  const before = new Map(spokes.map((spoke) => [spoke, world.spokes.jobsCreated(spoke).length]));
  await world.upgrade('handed-over', spokes);
  await world.untilBegun('handed-over');
  await world.hub?.stop({ signal: 'SIGKILL' });
  await world.startHubProcess({ args: ['--lease-name', 'successor', '--step-concurrency', '1'], env });
  await world.untilCondition('handed-over', 'PrecachingSuceeded', done, 120_000);
  await world.untilClean(spokes);
  for (const spoke of spokes) expect(world.spokes.jobsCreated(spoke), spoke).toHaveLength((before.get(spoke) ?? 0) + 1);
});
