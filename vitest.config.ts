import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Settings of tests on real servers: all files of a run share programs and API servers. */
const onServers = {
  globalSetup: ['test/integration/global-setup.ts'],
  setupFiles: ['test/worker-exit.ts', 'test/integration/file-setup.ts'],
  testTimeout: 300_000,
  hookTimeout: 300_000,
  // Real servers on a busy machine: a second attempt counts, and the closing summary names it.
  retry: 1,
  fileParallelism: true,
};

/**
 * Test tiers by question: unit (is the decision right?), integration (does the world converge on an API server?), system (does it hold
 * with the real parts around it?), e2e (does the install work?).
 */
export default defineConfig({
  test: {
    // Integration files mostly wait for servers: three at a time keep two cores busy and no more.
    maxWorkers: Math.max(3, availableParallelism()),
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            '{packages,apps}/*/{src,testing}/**/*.test.ts',
            '{tools,demo}/src/**/*.test.ts',
            'test/{simulation,support}/**/*.test.ts',
          ],
          exclude: ['**/*.{integration,system,fuzz}.test.ts'],
          // Nearly all of the time of these would go into importing the same modules for each file; none leaves anything behind in them.
          isolate: false,
          // Nothing here waits; but the machine may have other things to do.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'fuzz',
          include: ['packages/*/src/**/*.fuzz.test.ts', 'apps/*/src/**/*.fuzz.test.ts'],
          // The time of a run is given to `npm run fuzz`.
          testTimeout: 3_600_000,
        },
      },
      {
        test: {
          name: 'architecture',
          include: ['test/architecture/**/*.test.ts'],
          // Parsing the sources is most of the time: the tests of a worker share it.
          isolate: false,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          // Beside the source where a part of an app runs on a real server: nobody imports an app.
          include: ['test/integration/**/*.test.ts', 'apps/*/{src,testing}/**/*.integration.test.ts'],
          // As for unit tests: a process for each file would spend a seventh of the CPU on starting and importing.
          isolate: false,
          ...onServers,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts', 'apps/*/{src,testing}/**/*.system.test.ts'],
          ...onServers,
        },
      },
      // A command of its own: `npm run chaos`.
      { test: { name: 'chaos', include: ['test/bench/chaos/*.test.ts'], ...onServers } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          setupFiles: ['test/worker-exit.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          retry: 1,
          // Whole clusters wait for slow links most of the time: two fleets at once, and no more.
          maxWorkers: 2,
        },
      },
    ],
  },
});
