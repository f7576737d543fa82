import { parentPort } from 'node:worker_threads';
import { casesOf, nameOf, playCase } from './play.ts';

/** Task of a thread: each cause alone, and so many pairs by a seed. */
export interface Deal {
  readonly seed: number;
  readonly pairs: number;
}

/** Number of cases, and those that did not hold. */
export interface Dealt {
  readonly played: number;
  readonly problems: readonly string[];
}

async function playAll({ seed, pairs }: Deal): Promise<Dealt> {
  const cases = casesOf(seed, pairs);
  const problems: string[] = [];
  for (const one of cases) {
    const problem = await playCase(one);
    if (problem !== undefined) problems.push(`${nameOf(one)}: ${problem}`);
  }
  return { played: cases.length, problems };
}

parentPort?.on('message', (deal: Deal) => {
  playAll(deal).then(
    (dealt) => parentPort?.postMessage(dealt),
    (error: unknown) => {
      throw error;
    },
  );
});
