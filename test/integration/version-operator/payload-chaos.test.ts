import { createRandom } from '@flotilla/control-plane/simulators';
import { expect, test } from 'vitest';
import { readPayloadChaos } from './chaos-config.ts';
import { ChaosWorld } from './chaos-world.ts';

const { kills, cuts, seed } = readPayloadChaos();
const MOST_PER_UPDATE = 5;
const MOMENT_MS = 60_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** More updates than moments need: one may end before all of its moments have come, on a machine that was busier when nobody disturbed it most of them. */
const versionsFor = (moments: number) => Array.from({ length: 2 * Math.ceil(moments / MOST_PER_UPDATE) + 8 }, (_, patch) => `4.1.${patch}`);

/** One update after the other, each disturbed at drawn moments, and compared with one that nobody disturbed. */
async function updateWith(
  moments: number,
  disturb: (world: ChaosWorld, version: string, strike: { wanted: number; drawMs: () => number }) => Promise<readonly string[]>,
): Promise<void> {
  const random = createRandom(seed);
  const [first = '', second = '', ...others] = versionsFor(moments);
  await using world = await ChaosWorld.start([first, second, ...others]);
  const calm = await world.ask(second);
  await world.startOperator(second);
  const begun = performance.now();
  await world.completed(second);
  const tookMs = performance.now() - begun;
  await world.stopOperator();
  expect(await world.faults(second, calm)).toEqual([]);
  const end = await world.endState(second);
  let struck = 0;
  for (const version of others) {
    const wanted = Math.min(MOST_PER_UPDATE, moments - struck);
    if (wanted === 0) break;
    const since = await world.ask(version);
    const told = await disturb(world, version, { wanted, drawMs: () => Math.round((random() * 2 * tookMs) / (wanted + 1)) });
    await world.completed(version);
    await world.stopOperator();
    struck += told.length;
    console.log(`${version}: ${told.join(', ')}`);
    expect(await world.faults(version, since)).toEqual([]);
    expect(await world.endState(version)).toEqual(end);
  }
  console.log(`${struck} moments, seed ${seed}; an update that nobody disturbs takes ${Math.round(tookMs)} ms`);
  expect(struck).toBe(moments);
}

test(
  `an operator that is killed at ${kills} moments of updates is followed by one that goes on where it stood`,
  {
    timeout: 180_000 + kills * MOMENT_MS,
  },
  () =>
    updateWith(kills, async (world, version, { wanted, drawMs }) => {
      const told: string[] = [];
      for (let isOver = false; !isOver && told.length < wanted; ) {
        await world.startOperator(version);
        const moment = drawMs();
        await pause(moment);
        // one that comes after the end of the update strikes nothing
        isOver = await world.hasCompleted(version);
        await world.killOperator();
        if (!isOver) told.push(`killed after ${moment} ms`);
      }
      await world.startOperator(version);
      return told;
    }),
);

test(`an API server that is cut off at ${cuts} moments of updates changes nothing about their end`, {
  timeout: 180_000 + cuts * MOMENT_MS,
}, () => {
  const random = createRandom(seed, 'cuts');
  return updateWith(cuts, async (world, version, { wanted, drawMs }) => {
    const told: string[] = [];
    await world.startOperator(version);
    while (told.length < wanted) {
      const moment = drawMs();
      await pause(moment);
      if (await world.hasCompleted(version)) break;
      const forMs = Math.round(100 + random() ** 2 * 4_000);
      await world.cutOff(forMs);
      told.push(`cut off after ${moment} ms for ${forMs} ms`);
    }
    return told;
  });
});
