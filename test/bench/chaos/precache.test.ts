import { DEFAULT_WORK_CADENCE } from '@flotilla/agent';
import { createRandom } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { spokeNames, World } from '../../integration/precache/world.ts';
import { eachAttempt } from '../../integration/world.ts';
import { startRedis, type TestRedis } from '../../system/precache/redis.ts';
import { readChaosConfig } from './config.ts';

const { moments: MOMENTS, spokes: SPOKES, seed: SEED, transport: TRANSPORT } = readChaosConfig();
const spokes = spokeNames(SPOKES);

let world: World;
let redis: TestRedis | undefined;

eachAttempt(
  async () => {
    world = await World.start({
      spokes,
      job: { seconds: 4, jitter: 0.3 },
      seed: SEED,
      withoutHub: true,
      hubArgs: TRANSPORT ? ['--transport', TRANSPORT] : [],
      simulated: { workCadence: { ...DEFAULT_WORK_CADENCE, feedback: 'immediate' } },
    });
    redis = await startRedis(world.dir);
  },
  async () => {
    await world?.stop();
    await redis?.[Symbol.asyncDispose]();
  },
);

test(
  `a hub killed and a queue emptied at ${MOMENTS} random moments: same end, one job per spoke and upgrade`,
  async ({ skip }) => {
    if (!redis) return skip('redis-server is not on PATH; install it to run this test');
    const random = createRandom(SEED);
    // Half of each, in a random order.
    const moments = Array.from({ length: MOMENTS }, (_, index) => ({ kind: index % 2 === 0 ? 'kill' : 'flush', order: random() })).sort(
      (a, b) => a.order - b.order,
    );
    const env = { REDIS_URL: redis.url };
    let hubs = 0;
    // Each hub has a lease of its own: its predecessor is dead, and waiting 15 s for the lease of the dead is another test's matter.
    const startHub = () => world.startHubProcess({ args: ['--lease-name', `crash-${++hubs}`], env, standby: true });
    await startHub();

    const log: string[] = [];
    let runs = 0;
    while (moments.length > 0) {
      const name = `run-${++runs}`;
      const begun = Date.now();
      await world.upgrade(name, spokes);
      while (moments.length > 0) {
        await new Promise((resolve) => setTimeout(resolve, 200 + random() * 1_800));
        const states = Object.values(await world.states(name));
        if (states.length === spokes.length && states.every((state) => state === 'Succeeded')) break;
        const kind = moments.pop()?.kind;
        log.push(`${name} +${Date.now() - begun} ms: ${kind}`);
        if (kind === 'flush') await redis.flushAll();
        else {
          await world.hub?.stop({ signal: 'SIGKILL' });
          await startHub();
        }
      }
      await world.untilCondition(name, 'PrecachingSuceeded', 'True PrecachingCompleted: Precaching is completed for all clusters', 120_000);
      await world.untilClean(spokes);
      for (const spoke of spokes) {
        expect(world.spokes.jobsCreated(spoke), `${spoke} after ${log.join(', ')}`).toHaveLength(runs);
        const namespace = world.namespaceOn(spoke);
        await eventually(() => !namespace.exists(), `the namespace on ${spoke} to be gone`, 10_000);
      }
      expect(await world.states(name)).toEqual(Object.fromEntries(spokes.map((spoke) => [spoke, 'Succeeded'])));
    }
    process.stdout.write(
      `transport ${TRANSPORT ?? 'as the hub chooses'}: ${MOMENTS} moments in ${runs} runs of ${spokes.length} spokes, ${hubs - 1} kills: ${runs * spokes.length} jobs, one per spoke and run\n`,
    );
    expect(hubs - 1).toBe(Math.ceil(MOMENTS / 2));
  },
  120_000 + MOMENTS * 20_000,
);
