import type { Story } from './core/story.ts';

/** A story that once failed, cut down. */
interface KnownStory {
  /** The fault that it showed. */
  readonly name: string;
  readonly story: Story;
}

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
];
