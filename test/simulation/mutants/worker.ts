import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { mutants } from './mutants.ts';
import { loadMutated } from './mutated.ts';

/** First seed whose run showed a property that does not hold. */
export interface Caught {
  readonly runs: number;
  readonly property: string | undefined;
  readonly says: string | undefined;
}

const { index, from, most } = z.object({ index: z.int(), from: z.int(), most: z.int() }).parse(workerData);

async function hunt(): Promise<Caught> {
  const mutant = mutants[index];
  if (!mutant) throw new RangeError(`no mutant ${index}`);
  loadMutated(mutant);
  const { play } = await import('../core/play.ts');
  const { randomStory } = await import('../core/random-story.ts');
  for (let runs = 1; runs <= most; runs += 1) {
    const { violation } = await play(randomStory(from + runs - 1));
    if (violation) return { runs, property: violation.property, says: violation.says };
  }
  return { runs: most, property: undefined, says: undefined };
}

hunt().then(
  (caught) => parentPort?.postMessage(caught),
  (error: unknown) => parentPort?.postMessage({ runs: 0, property: undefined, says: String(error) } satisfies Caught),
);
