import type { Story } from './core/story.ts';

/** A story that once failed, cut down. */
interface KnownStory {
  /** The fault that it showed. */
  readonly name: string;
  readonly story: Story;
}

/** An upgrade that rolls one work out. */
const ALONE = { name: 'u1', at: 0, canaries: [], policies: [], works: 1, preCaching: false, backup: false, enable: true, abort: false };

/** Stories that failed when they were found; each has held since. */
export const knownStories: readonly KnownStory[] = [
  {
    name: 'a cluster that is enforced again needs a place as well',
    story: {
      seed: 2501,
      spokes: 4,
      transport: 'actions',
      hubs: 1,
      upgrades: [
        {
          name: 'u1',
          at: 0,
          clusters: [1, 2, 4],
          canaries: [2],
          maxConcurrency: 2,
          timeoutMinutes: 40,
          policies: [{ soakSeconds: 0 }, { soakSeconds: 120 }, { soakSeconds: 0 }],
          works: 0,
          preCaching: false,
          backup: false,
          enable: true,
          abort: true,
          waves: { least: 1, patienceMinutes: 1 },
        },
      ],
      acts: [
        { at: 94_580, what: 'unbind', upgrade: 'u1', policy: 1 },
        { at: 505_413, what: 'lose images', cluster: 1 },
      ],
      storms: [],
      limits: { pulling: 3, upgrading: 3, row: 1 },
    },
  },
  {
    // Seed 471.
    name: 'an upgrade that was restored in mid-run brought no work back, and left those of clusters that were done',
    story: {
      seed: 471,
      spokes: 3,
      transport: 'work',
      hubs: 1,
      upgrades: [{ ...ALONE, clusters: [1, 2, 3], maxConcurrency: 3, timeoutMinutes: 40 }],
      acts: [{ at: 29_439, what: 'restore', upgrade: 'u1' }],
      storms: [],
      operated: { cluster: 3, upgrade: 'u1', notBefore: 120_000, isKept: false, operators: 'upgrade' },
    },
  },
  {
    // Seed 1182.
    name: 'an UpgradeConfig that was made anew while its version was applied was done before any worker had begun',
    story: {
      seed: 1182,
      spokes: 3,
      transport: 'actions',
      hubs: 1,
      upgrades: [{ ...ALONE, clusters: [3], maxConcurrency: 1, timeoutMinutes: 40 }],
      acts: [
        { at: 15_062, what: 'hold version', operator: 'upgrade', ms: 30_000 },
        { at: 72_368, what: 'take back', operator: 'upgrade', ms: 100 },
        { at: 285_194, what: 'sleep operator', operator: 'upgrade', ms: 30_000 },
      ],
      storms: [],
      operated: { cluster: 3, upgrade: 'u1', notBefore: 0, isKept: true, operators: 'upgrade' },
    },
  },
  {
    // Seed 20262144.
    name: 'another version was written beside the image that the cluster was on its way to, and was waited for without end',
    story: {
      seed: 20_262_144,
      spokes: 1,
      transport: 'work',
      hubs: 1,
      upgrades: [{ ...ALONE, clusters: [1], maxConcurrency: 2, timeoutMinutes: 20 }],
      acts: [{ at: 506_000, what: 'ask for another', operator: 'upgrade', ms: 0 }],
      storms: [],
      operated: { cluster: 1, upgrade: 'u1', operators: 'both', notBefore: 480_000, isKept: true },
      limits: { pulling: 1, upgrading: 3, row: 3 },
    },
  },
  {
    // Seed 20262468: the property took what goes on for what begins.
    name: 'an upgrade whose place went to another while it was lost goes on when it is restored',
    story: {
      seed: 20_262_468,
      spokes: 3,
      transport: 'actions',
      hubs: 1,
      upgrades: [
        { ...ALONE, clusters: [1], maxConcurrency: 1, timeoutMinutes: 10, policies: [{ soakSeconds: 120 }], works: 0 },
        {
          ...ALONE,
          name: 'u3',
          at: 20_000,
          clusters: [3],
          maxConcurrency: 1,
          timeoutMinutes: 20,
          policies: [{ soakSeconds: 0 }],
          works: 0,
        },
      ],
      acts: [{ at: 21_198, what: 'restore', upgrade: 'u1' }],
      storms: [],
      limits: { pulling: 2, upgrading: 1, row: 1 },
    },
  },
  {
    // Seed 415762765.
    name: 'a cluster that complied from the beginning, for it was away, was enforced when it fell back, without its images',
    story: {
      seed: 415_762_765,
      spokes: 2,
      transport: 'work',
      hubs: 1,
      upgrades: [
        {
          ...ALONE,
          name: 'u2',
          at: 233_967,
          clusters: [1, 2],
          maxConcurrency: 1,
          timeoutMinutes: 40,
          policies: [{ soakSeconds: 0 }],
          works: 0,
          preCaching: true,
        },
      ],
      acts: [{ at: 293_822, what: 'leave', cluster: 1 }],
      storms: [],
    },
  },
  {
    // Seed 415761405.
    name: 'the pass that began a rollout gave places beside those that the pass before it had given',
    story: {
      seed: 415_761_405,
      spokes: 8,
      transport: 'actions',
      hubs: 1,
      upgrades: [
        {
          ...ALONE,
          clusters: [1, 2, 3, 4, 5, 6, 7, 8],
          maxConcurrency: 8,
          timeoutMinutes: 5,
          policies: [{ soakSeconds: 0 }, { soakSeconds: 0 }, { soakSeconds: 0 }],
          works: 0,
        },
        {
          ...ALONE,
          name: 'u2',
          at: 82_954,
          clusters: [1, 2, 3, 4, 5],
          canaries: [4],
          maxConcurrency: 5,
          timeoutMinutes: 5,
          preCaching: true,
          waves: { least: 1, patienceMinutes: 3 },
        },
      ],
      acts: [
        { at: 63_037, what: 'set limits', limits: { pulling: 2, upgrading: 1, row: 1 } },
        { at: 161_810, what: 'break limits', limits: { pulling: 2, upgrading: 2, row: 2 } },
      ],
      storms: [],
      limits: { pulling: 1, upgrading: 3, row: 1 },
    },
  },
  {
    name: 'what was sent before an upgrade was lost arrives after its return',
    story: {
      seed: 521000916,
      spokes: 5,
      transport: 'actions',
      hubs: 1,
      upgrades: [
        {
          name: 'u1',
          at: 0,
          clusters: [1, 2, 3, 4, 5],
          canaries: [],
          maxConcurrency: 2,
          timeoutMinutes: 10,
          policies: [{ soakSeconds: 0 }, { soakSeconds: 0 }],
          works: 0,
          preCaching: true,
          backup: false,
          enable: true,
          abort: false,
        },
      ],
      acts: [{ at: 200652, what: 'restore', upgrade: 'u1' }],
      storms: [{ from: 152122, until: 392122, mishaps: 0.02, lagMs: 2000, breaks: 0 }],
    },
  },
  {
    name: 'a cluster that another upgrade has at work has its place',
    story: {
      seed: 521002958,
      spokes: 3,
      transport: 'actions',
      hubs: 1,
      upgrades: [
        {
          name: 'u1',
          at: 0,
          clusters: [1, 2, 3],
          canaries: [],
          maxConcurrency: 3,
          timeoutMinutes: 40,
          policies: [],
          works: 1,
          preCaching: true,
          backup: false,
          enable: true,
          abort: false,
          waves: { least: 1, patienceMinutes: 3 },
        },
        {
          name: 'u2',
          at: 178683,
          clusters: [1, 2],
          canaries: [],
          maxConcurrency: 3,
          timeoutMinutes: 20,
          policies: [{ soakSeconds: 120 }],
          works: 0,
          preCaching: false,
          backup: false,
          enable: true,
          abort: false,
        },
      ],
      acts: [{ at: 182061, what: 'set limits', limits: { pulling: 1, upgrading: 1, row: 2 } }],
      storms: [],
      limits: { pulling: 1, upgrading: 2, row: 3 },
    },
  },
  {
    name: 'an UpgradeConfig made anew in mid-version asks for an earlier version',
    story: {
      seed: 521003022,
      spokes: 1,
      transport: 'actions',
      hubs: 1,
      upgrades: [
        {
          name: 'u1',
          at: 0,
          clusters: [1],
          canaries: [],
          maxConcurrency: 2,
          timeoutMinutes: 20,
          policies: [],
          works: 1,
          preCaching: false,
          backup: false,
          enable: true,
          abort: false,
        },
      ],
      acts: [
        { at: 100818, what: 'ask for another', operator: 'upgrade', ms: 30000 },
        { at: 117013, what: 'restore', upgrade: 'u1' },
      ],
      storms: [],
      operated: { cluster: 1, upgrade: 'u1', operators: 'both', notBefore: 120000, isKept: false },
    },
  },
  {
    name: 'a policy reaches a cluster late that was complete without it',
    story: {
      seed: 521003267,
      spokes: 3,
      transport: 'work',
      hubs: 1,
      upgrades: [
        {
          name: 'u3',
          at: 179216,
          clusters: [1, 2, 3],
          canaries: [],
          maxConcurrency: 2,
          timeoutMinutes: 20,
          policies: [{ soakSeconds: 0 }],
          works: 0,
          preCaching: true,
          backup: false,
          enable: true,
          abort: false,
        },
      ],
      acts: [
        { at: 115636, what: 'unlabel', cluster: 2 },
        { at: 227774, what: 'hold', cluster: 3 },
      ],
      storms: [],
    },
  },
  {
    name: 'a cluster that its backup left out waits for no place to pull',
    story: {
      seed: 647,
      spokes: 7,
      transport: 'actions',
      hubs: 1,
      upgrades: [
        {
          name: 'u1',
          at: 0,
          clusters: [1, 2, 3, 4, 5, 6, 7],
          canaries: [],
          maxConcurrency: 30,
          timeoutMinutes: 10,
          policies: [{ soakSeconds: 0 }],
          works: 0,
          preCaching: true,
          backup: true,
          enable: true,
          abort: false,
          waves: { least: 1, patienceMinutes: 3 },
        },
      ],
      acts: [{ at: 235092, what: 'delete job', cluster: 7 }],
      storms: [],
      limits: { pulling: 1, upgrading: 2, row: 2 },
    },
  },
  {
    name: 'a policy is disabled after the success of an upgrade',
    story: {
      seed: 521004673,
      spokes: 3,
      transport: 'work',
      hubs: 1,
      upgrades: [
        {
          name: 'u2',
          at: 199721,
          clusters: [1, 2, 3],
          canaries: [],
          maxConcurrency: 2,
          timeoutMinutes: 5,
          policies: [{ soakSeconds: 120 }],
          works: 0,
          preCaching: false,
          backup: false,
          enable: true,
          abort: false,
          waves: { least: 1, patienceMinutes: 1 },
        },
      ],
      acts: [
        { at: 404783, what: 'pause', upgrade: 'u2' },
        { at: 784723, what: 'disable', upgrade: 'u2', policy: 1 },
      ],
      storms: [],
    },
  },
];
