import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Cell, RestoreWorld } from './restore-cells.ts';
import { orderOf, phaseNames } from './restore-phases.ts';

/** One play, each phase in an order of its own; `npm run matrix:restore` plays every phase in every order, with and without statuses, beside a hub or before it. */
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
const TIMEOUT_MS = 240_000;

test.each(CELLS === 'all' ? all : once)(
  'a hub is lost in the middle of ten upgrades and restored, orders from $shift, hub running: $isRunning, statuses of $odd: nothing is done unseen or twice, and each goes on',
  { timeout: TIMEOUT_MS },
  async ({ shift, isRunning, odd }) => {
    await using restored = await RestoreWorld.start(SEED);
    const cells = phaseNames.map((phase, index): Cell => ({ phase, order: (index + shift) % 10, hasStatus: (index + odd) % 2 === 1 }));
    const results = await restored.play(cells, isRunning);
    for (const { phase, order, hasStatus } of cells) {
      const { said, ...seen } = results.get(phase) ?? expect.fail(`${phase} was not played`);
      const what = `${phase} ${hasStatus ? 'with' : 'without'} status, ${orderOf(SEED, order).join(', ')}: ${said}`;
      expect.soft(seen, what).toEqual({ unseen: [], twice: [], strangers: [], early: [], end: 'True Completed' });
    }
  },
);
