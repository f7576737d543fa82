/** Pause, retry, hold and membership asked in every state of an upgrade, with another hub between. FLOTILLA_STEERING=all asks each in each state. */
import { createRandom } from '@flotilla/control-plane/simulators';
import { mapConcurrently } from '@flotilla/pace';
import { expect, test } from 'vitest';
import { Cell, REQUESTS, STATES } from './steering.ts';
import { RolloutWorld } from './world.ts';

const seed = Number(process.env.FLOTILLA_STEERING_SEED ?? 1);
const isLong = process.env.FLOTILLA_STEERING === 'all';
const random = createRandom(seed);
const drawn = REQUESTS.map((request) => ({ request, order: random() })).toSorted((a, b) => a.order - b.order);
/** In short each state once and each request at least once; which of them meet is the seed's choice. */
const pairs = STATES.flatMap((state, index) =>
  drawn.filter((_, at) => isLong || at === index % drawn.length).map(({ request }) => ({ state, request })),
);
const PARALLEL = 8;

test(`seed ${seed}: ${pairs.map(({ state, request }) => `${request} ${state}`).join(', ')}`, {
  timeout: isLong ? 1_800_000 : 600_000,
}, async () => {
  const spokes = pairs.flatMap(({ state, request }) => Cell.clustersOf(state, request));
  await using world = await RolloutWorld.start({ spokes, seed, inMemory: true, simulated: { job: { seconds: 1, jitter: 0.5 } } });
  const another = async () => {
    await world.hub?.stop();
    await world.startHub();
  };
  const cells = pairs.map(({ state, request }) => new Cell(world, state, request));
  const all = <T>(of: (cell: Cell) => Promise<T>) => mapConcurrently(cells, PARALLEL, of);
  await all((cell) => cell.begin());
  const finished = new Map(cells.map((cell) => [cell.name, finishedJobs(world, cell)]));
  await all((cell) => cell.ask());
  await another();
  await all((cell) => cell.untilTaken());
  await another();
  await all((cell) => cell.undo());
  await another();
  await all((cell) => cell.release());
  await all((cell) => cell.untilEnded());

  for (const cell of cells) {
    const { name, clusters, complete, jobs } = cell;
    const { sights } = world.history(name);
    const recorded = (await world.recorded(name)).filter((record) => record.endsWith(': complete'));
    expect(recorded.toSorted(), name).toEqual(complete.map((cluster) => `${cluster}: complete`));
    expect(
      clusters.map((cluster) => world.spokes.jobsCreated(cluster).length),
      name,
    ).toEqual(jobs);
    expect(
      sights.flatMap(({ status }) => (status.clusters ?? []).filter(({ state }) => state === 'timedout')),
      name,
    ).toEqual([]);
    expect(
      sights.flatMap(({ status }) => Object.values(status.precaching?.status ?? {})),
      name,
    ).not.toContain('PrecacheTimeout');
    for (const [cluster, count] of finished.get(name) ?? []) expect(world.spokes.jobsCreated(cluster).length, cluster).toBe(count);
  }
});

/** Clusters whose images were there when something was asked, and the jobs that they had seen. */
function finishedJobs(world: RolloutWorld, { name }: Cell): readonly (readonly [string, number])[] {
  const states = world.history(name).sights.at(-1)?.status.precaching?.status ?? {};
  return Object.entries(states).flatMap(([cluster, state]) =>
    state === 'Succeeded' ? [[cluster, world.spokes.jobsCreated(cluster).length] as const] : [],
  );
}
