import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Cell, orderOf, phaseNames, phases, RestoreWorld } from './restore-cells.ts';

/** `npm run matrix:restore` plays every phase in every order, with and without statuses, beside a hub or before it; `CELLS=once` each of them once. */
const { CELLS, SEED } = z.object({ CELLS: z.string().optional(), SEED: z.coerce.number().int().default(0) }).parse(process.env);

interface Play {
  readonly shift: number;
  readonly isRunning: boolean;
  /** 0 or 1: whose status comes back. */
  readonly odd: number;
}
const each = <T>(values: readonly T[], plays: (value: T) => readonly Play[]): Play[] => values.flatMap(plays);
const all = each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], (shift) =>
  each([true, false], (isRunning) => each([0, 1], (odd) => [{ shift, isRunning, odd }])),
);
const once = [{ shift: SEED % 10, isRunning: SEED % 2 === 0, odd: 1 }];
const plays: readonly Play[] = CELLS === undefined ? [] : CELLS === 'all' ? all : once;
const TIMEOUT_MS = 240_000;

test.skipIf(CELLS !== undefined)('a hub that is lost in every phase', (context) => {
  context.skip('a play takes minutes: npm run matrix:restore makes all of them, and the stories of restore.test.ts are in the suite');
});

test.each(plays)(
  'a hub is lost in the middle of ten upgrades and restored, orders from $shift, hub running: $isRunning, statuses of $odd: nothing is done unseen or twice, and each goes on',
  { timeout: TIMEOUT_MS },
  async ({ shift, isRunning, odd }) => {
    await using restored = await RestoreWorld.start(SEED);
    const cells = phaseNames.map((phase, index): Cell => ({ phase, order: (index + shift) % 10, hasStatus: (index + odd) % 2 === 1 }));
    const results = await restored.play(cells, isRunning);
    for (const { phase, order, hasStatus } of cells) {
      const { unseen, jobs, strangers, early, said, end } = results.get(phase) ?? expect.fail(`${phase} was not played`);
      const what = `${phase} ${hasStatus ? 'with' : 'without'} status, ${orderOf(SEED, order).join(', ')}: ${said}`;
      expect.soft({ unseen, strangers, early }, what).toEqual({ unseen: [], strangers: [], early: [] });
      expect.soft(jobs, what).toBeLessThanOrEqual('jobsHeld' in phases[phase] || 'spec' in phases[phase] ? 1 : 0);
      expect.soft(said, what).not.toBe('');
      expect.soft(end, what).toBe('True Completed');
    }
  },
);
