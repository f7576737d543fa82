import { PrecacheAction } from '@flotilla/api/ran';
import { byPrecaching, type Cause, hold, holdJobs, mend, type Scene } from './cause.ts';

const PAUSED = { 'flotilla.io/paused': 'drain' };
const other = ({ name }: Scene) => `${name}-other`;
const retry: Cause['release'] = {
  says: /try the cluster again: flotilla retry -n default w\d+ w\d+-1/,
  apply: async (scene) => {
    mend(scene);
    await scene.world.annotate(scene.name, { 'flotilla.io/retry-at': new Date(scene.world.clock.now()).toISOString() });
  },
};
/** Another upgrade is busy with the first spoke. */
async function claim(scene: Scene): Promise<void> {
  holdJobs(scene);
  const { world, spokes } = scene;
  await world.upgrade(other(scene), [spokes[0]], [], { preCaching: true, preCachingConfigRef: { name: 'config' } });
  await world.untilCondition(other(scene), 'PrecachingSuceeded', /InProgress/);
  await byPrecaching(scene);
}

/** What keeps a cluster from being cached. */
export const ofJobs: readonly Cause[] = [
  {
    name: 'a pull',
    inject: async (scene) => {
      holdJobs(scene);
      await byPrecaching(scene);
    },
    want: { cause: 'precache-pull', says: /pulls: \d+ of \d+ images/ },
    release: { says: /ends when the bytes that are left are there/, apply: mend },
    after: 'cached',
  },
  {
    name: 'a cluster that another upgrade is busy with',
    inject: claim,
    want: { cause: 'precache-pull', says: /waits for ClusterGroupUpgrade default\/\S+-other, which is pre-caching/ },
    release: { says: /ends when the bytes that are left are there/, apply: mend },
    after: 'cached',
  },
  {
    name: 'a pause before pre-caching',
    inject: (scene) => byPrecaching(scene, {}, PAUSED),
    want: { cause: 'paused', says: /[Pp]aused/ },
    release: {
      says: /Remove the annotation flotilla\.io\/paused/,
      apply: ({ world, name }) => world.annotate(name, { 'flotilla.io/paused': null }),
    },
    after: 'cached',
  },
  {
    name: 'an agent that is slow',
    inject: async (scene) => {
      scene.world.spokes.setFaults(scene.spokes[0], { latencyMs: 8_000 });
      await byPrecaching(scene);
    },
    want: { cause: 'precache-prepare', says: /is looked at/ },
    release: { says: /goes on when the agent has answered/, apply: mend },
    after: 'cached',
  },
  {
    name: 'a pod that does not run yet',
    inject: async (scene) => {
      scene.world.spokes.setFaults(scene.spokes[0], { jobNeverStarts: true });
      await byPrecaching(scene);
    },
    want: { cause: 'precache-start', says: /pod/ },
    release: { says: /goes on when the pod/, apply: mend },
    after: 'another cause',
  },
  {
    name: 'a spoke whose admission denies the job',
    inject: async (scene) => {
      scene.world.spokes.setFaults(scene.spokes[0], { failActions: { [PrecacheAction.createJob]: 9 } });
      await byPrecaching(scene);
    },
    want: { cause: 'precache-problem', says: /denied|fail/i },
    release: { says: /Correct the cause that the message names/, apply: mend },
    after: 'cached',
  },
  {
    name: 'a spoke whose API server is down',
    inject: async (scene) => {
      scene.world.spokes.setFaults(scene.spokes[0], { apiServerDown: true });
      await byPrecaching(scene);
    },
    want: { cause: 'precache-problem', says: /cannot see namespace/ },
    release: { says: /whether the API server of \S+ answers/, apply: mend },
    after: 'cached',
  },
  {
    name: 'a pull that has failed',
    inject: async (scene) => {
      scene.world.spokes.setFaults(scene.spokes[0], { failJob: true });
      scene.world.spokes.setFaults(scene.spokes[1], { jobsHeld: true });
      await byPrecaching(scene);
    },
    want: { cause: 'failed', says: /failed to pre-cache/ },
    release: retry,
    after: 'cached',
  },
  {
    name: 'a pull whose time is over',
    inject: async (scene) => {
      scene.world.spokes.setFaults(scene.spokes[0], { deadlineJobSeconds: 1 });
      scene.world.spokes.setFaults(scene.spokes[1], { jobsHeld: true });
      await byPrecaching(scene);
    },
    want: { cause: 'failed', says: /PrecacheTimeout/ },
    release: retry,
    after: 'cached',
  },
  {
    name: 'a cluster that another upgrade is busy with, and a hold',
    doubled: true,
    inject: async (scene) => {
      await claim(scene);
      await hold(scene, 'disk');
    },
    want: { cause: 'held', says: /held: disk/ },
    release: { says: /[Rr]emove the annotation flotilla\.io\/hold/, apply: (scene) => hold(scene, null) },
    after: 'another cause',
  },
  {
    name: 'a pause, and a cluster that another upgrade is busy with',
    doubled: true,
    inject: async (scene) => {
      await claim(scene);
      await scene.world.annotate(scene.name, PAUSED);
    },
    want: { cause: 'paused', says: /[Pp]aused/ },
    release: { says: /flotilla\.io\/paused/, apply: ({ world, name }) => world.annotate(name, { 'flotilla.io/paused': null }) },
    after: 'another cause',
  },
];
