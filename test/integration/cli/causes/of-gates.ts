import { eventually } from '@flotilla/pace/testing';
import { backupJobs } from '../../backup/backups.ts';
import { byPolicy, byPrecaching, type Cause, comply, holdJobs, inBatch, mend, NEVER } from './cause.ts';

const PAUSED = { 'flotilla.io/paused': 'drain', 'flotilla.io/paused-reason': 'ticket 4711' };
const resume: Cause['release'] = {
  says: /Remove the annotation flotilla\.io\/paused/,
  apply: ({ world, name }) => world.annotate(name, { 'flotilla.io/paused': null, 'flotilla.io/paused-reason': null }),
};
const openWindow: Cause['release']['apply'] = ({ world, name }) =>
  world.annotate(name, {
    'flotilla.io/window-start': null,
    'flotilla.io/window-end': null,
    'flotilla.io/window-schedule': null,
    'flotilla.io/window-duration': null,
  });
const enable: Cause['release'] = {
  says: /Set spec\.enable to true/,
  apply: ({ world, name }) => world.edit(name, { enable: true }),
};
const blockedBy = (...names: readonly string[]) => ({ blockingCRs: names.map((name) => ({ name, namespace: 'default' })) });

/** What keeps a rollout or its next batch from starting. */
export const ofGates: readonly Cause[] = [
  {
    name: 'an upgrade that is not enabled',
    inject: (scene) => byPolicy(scene, { enable: false }),
    want: { cause: 'gate-enable', says: /not enabled/ },
    release: enable,
  },
  {
    name: 'a pause',
    inject: (scene) => byPolicy(scene, {}, PAUSED),
    want: { cause: 'paused', says: /ticket 4711/ },
    release: resume,
  },
  {
    name: 'a pause of another form',
    inject: (scene) => byPolicy(scene, {}, { 'flotilla.io/paused': 'stop' }),
    want: { cause: 'paused', says: /[Pp]aused/ },
    release: resume,
  },
  {
    name: 'a pause between batches',
    about: 'second',
    inject: async (scene) => {
      await inBatch(scene);
      await scene.world.annotate(scene.name, PAUSED);
      comply(scene);
    },
    want: { cause: 'paused', says: /ticket 4711/ },
    release: resume,
  },
  {
    name: 'a window that has not opened',
    inject: (scene) => byPolicy(scene, {}, NEVER),
    want: { cause: 'gate-window', says: /2099/ },
    release: { says: /opens at that time; moving or removing/, apply: openWindow },
  },
  {
    name: 'a window that recurs',
    inject: (scene) => byPolicy(scene, {}, { 'flotilla.io/window-schedule': '0 3 29 2 *', 'flotilla.io/window-duration': '1h' }),
    want: { cause: 'gate-window', says: /window/ },
    release: { says: /opens at that time/, apply: openWindow },
  },
  {
    name: 'a window that is over',
    inject: (scene) => byPolicy(scene, {}, { 'flotilla.io/window-end': '2020-01-01T00:00:00Z' }),
    want: { cause: 'gate-window', says: /2020/ },
    release: { says: /Move or remove the annotations/, apply: openWindow },
  },
  {
    name: 'a window that cannot be read',
    inject: (scene) => byPolicy(scene, {}, { 'flotilla.io/window-start': 'tomorrow' }),
    want: { cause: 'refused', says: /tomorrow/ },
    release: { says: /write times as/i, apply: openWindow },
  },
  {
    name: 'a window that closes between batches',
    about: 'second',
    inject: async (scene) => {
      await inBatch(scene);
      await scene.world.annotate(scene.name, NEVER);
      comply(scene);
    },
    want: { cause: 'gate-window', says: /batch 2 may not start yet/ },
    release: { says: /opens at that time/, apply: openWindow },
  },
  {
    name: 'an annotation that is not known',
    inject: (scene) => byPolicy(scene, {}, { 'flotilla.io/windowstart': '2026-01-01T00:00:00Z' }),
    want: { cause: 'refused', says: /windowstart/ },
    release: {
      says: /[Dd]o as the message says|[Cc]orrect/,
      apply: ({ world, name }) => world.annotate(name, { 'flotilla.io/windowstart': null }),
    },
  },
  {
    name: 'a blocking upgrade that is not there',
    inject: (scene) => byPolicy(scene, blockedBy(`${scene.name}-first`)),
    want: { cause: 'gate-blocking', says: /does not exist/ },
    release: { says: /take it out of spec\.blockingCRs/, apply: ({ world, name }) => world.edit(name, { blockingCRs: [] }) },
  },
  {
    name: 'a blocking upgrade that is not enabled',
    inject: async (scene) => {
      await scene.world.policies([scene.spokes[1]], { [`${scene.name}-first`]: {} });
      await scene.world.upgrade(`${scene.name}-first`, [scene.spokes[1]], [`${scene.name}-first`], { enable: false });
      await byPolicy(scene, blockedBy(`${scene.name}-first`));
    },
    want: { cause: 'gate-enable', says: /waits for ClusterGroupUpgrade default\/\S+-first to complete/ },
    release: { ...enable, apply: ({ world, name }) => world.edit(`${name}-first`, { enable: true }) },
  },
  {
    name: 'a chain of three upgrades, the last of them paused',
    inject: async (scene) => {
      const { world, name, spokes } = scene;
      await world.policies([spokes[1]], { [`${name}-3`]: {} });
      await world.upgrade(`${name}-3`, [spokes[1]], [`${name}-3`], {}, PAUSED);
      await world.policies([spokes[1]], { [`${name}-2`]: {} });
      await world.upgrade(`${name}-2`, [spokes[1]], [`${name}-2`], blockedBy(`${name}-3`));
      await byPolicy(scene, blockedBy(`${name}-2`));
    },
    want: { cause: 'paused', says: /waits for ClusterGroupUpgrade default\/\S+-3 to complete/ },
    release: {
      ...resume,
      apply: ({ world, name }) => world.annotate(`${name}-3`, { 'flotilla.io/paused': null, 'flotilla.io/paused-reason': null }),
    },
  },
  {
    name: 'its own backup',
    inject: async (scene) => {
      holdJobs(scene);
      await byPolicy(scene, { backup: true });
    },
    want: { cause: 'gate-backup', says: /is being backed up|whose pod does not run yet/ },
    release: { says: /goes on when/, apply: mend },
  },
  {
    name: 'the backup of another cluster',
    inject: async (scene) => {
      scene.world.spokes.setFaults(scene.spokes[1], { jobsHeld: true });
      await byPolicy(scene, { backup: true });
    },
    want: { cause: 'gate-backup', says: /the backup of 1 clusters is not over; the least far is \S+-2/ },
    release: { says: /goes on when/, apply: mend },
  },
  {
    name: 'a backup of a cluster that is away',
    inject: async (scene) => {
      holdJobs(scene);
      await byPolicy(scene, { backup: true });
      const { world, spokes } = scene;
      await eventually(() => backupJobs(world, spokes[0]).length > 0, 'the backup to begin', 60_000);
      await world.setAvailable(spokes[0], false);
    },
    want: { cause: 'cluster-unavailable', says: /not available/, certain: false },
    release: {
      says: /whether the cluster and its agent run/,
      apply: async (scene) => {
        await scene.world.setAvailable(scene.spokes[0], true);
        mend(scene);
      },
    },
  },
  {
    name: 'pre-caching of another cluster',
    about: 'second',
    inject: async (scene) => {
      scene.world.spokes.setFaults(scene.spokes[0], { jobsHeld: true });
      await scene.world.policies(scene.spokes, { [scene.name]: {} });
      await scene.world.upgrade(scene.name, scene.spokes, [scene.name], { preCaching: true, preCachingConfigRef: { name: 'config' } });
    },
    want: { cause: 'precache-pull', says: /is cached and waits for the rollout to start/ },
    release: { says: /It ends when/, apply: mend },
  },
  {
    name: 'no leave and a closed window',
    doubled: true,
    inject: (scene) => byPolicy(scene, { enable: false }, NEVER),
    want: { cause: 'gate-enable', says: /not enabled/ },
    release: enable,
    after: 'another cause',
  },
  {
    name: 'a pause and a closed window',
    doubled: true,
    inject: (scene) => byPolicy(scene, {}, { ...NEVER, ...PAUSED }),
    want: { cause: 'paused', says: /ticket 4711/ },
    release: resume,
    after: 'another cause',
  },
  {
    name: 'a closed window and a blocking upgrade',
    doubled: true,
    inject: (scene) => byPolicy(scene, blockedBy('nobody'), NEVER),
    want: { cause: 'gate-window', says: /2099/ },
    release: { says: /opens at that time/, apply: openWindow },
    after: 'another cause',
  },
  {
    name: 'a blocking upgrade and a backup',
    doubled: true,
    inject: (scene) => byPolicy(scene, { backup: true, ...blockedBy(`${scene.name}-first`) }),
    want: { cause: 'gate-blocking', says: /does not exist/ },
    release: { says: /take it out of spec\.blockingCRs/, apply: ({ world, name }) => world.edit(name, { blockingCRs: [] }) },
  },
  {
    name: 'a pull and no leave to start',
    doubled: true,
    inject: async (scene) => {
      holdJobs(scene);
      await byPrecaching(scene, { enable: false });
    },
    want: { cause: 'precache-pull', says: /pulls/ },
    release: { says: /It ends when/, apply: mend },
    after: 'cached',
  },
];
