import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Deal, Dealt } from './worker.ts';

const { SEED } = z.object({ SEED: z.coerce.number().int().default(1) }).parse(process.env);
const PAIRS = 40;

/** In a thread of its own, because a simulation puts its time in the place of the machine's. */
async function playAlone(deal: Deal): Promise<Dealt> {
  const worker = new Worker(new URL('worker.ts', import.meta.url), { execArgv: [] });
  try {
    worker.postMessage(deal);
    const [dealt] = (await once(worker, 'message')) as [Dealt];
    return dealt;
  } finally {
    await worker.terminate();
  }
}

test('of one cause and of two at once the first is named with its age, and what is advised ends it', { timeout: 900_000 }, async () => {
  const { played, problems } = await playAlone({ seed: SEED, pairs: PAIRS });
  process.stdout.write(`why: ${played - PAIRS} causes alone and ${PAIRS} pairs by seed ${SEED}, ${problems.length} told wrongly\n`);
  expect(problems).toEqual([]);
  expect(played - PAIRS).toBeGreaterThan(40);
});
