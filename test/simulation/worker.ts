import { parentPort } from 'node:worker_threads';
import { type Outcome, play } from './core/play.ts';
import { randomStory } from './core/random-story.ts';

/** Seeds that a thread is to play. */
export interface Batch {
  readonly from: number;
  readonly count: number;
}

/** Outcomes of a batch. */
export type BatchResult = readonly { readonly seed: number; readonly outcome: Outcome }[];

async function playBatch({ from, count }: Batch): Promise<BatchResult> {
  const results: { seed: number; outcome: Outcome }[] = [];
  for (let seed = from; seed < from + count; seed += 1) results.push({ seed, outcome: await play(randomStory(seed)) });
  return results;
}

parentPort?.on('message', (batch: Batch) => {
  playBatch(batch).then(
    (results) => parentPort?.postMessage(results),
    (error: unknown) => {
      throw error;
    },
  );
});
