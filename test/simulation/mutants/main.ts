import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { errorMessage } from '@flotilla/api';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';
import type { Caught } from './worker.ts';

const HELP = `Puts faults into the code, one after the other, and plays stories until a property does not hold.

  --runs N    at most so many stories for each; default 2000
  --from N    first seed; default 1
  --only TEXT mutants whose name has it
`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const caughtBy = (index: number, from: number, most: number): Promise<Caught> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: { index, from, most } });
    worker.once('error', reject);
    worker.once('message', (caught: Caught) => {
      resolve(caught);
      void worker.terminate();
    });
  });

const isRight = ({ seenBy }: Mutant, { property }: Caught): boolean => property !== undefined && [seenBy].flat().includes(property);

async function main(args: readonly string[]): Promise<number> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ args: [...args], options: { runs: text, from: text, only: text, help: { type: 'boolean' } } });
  if (values.help) {
    say(HELP);
    return 0;
  }
  const [from, most] = [Number(values.from ?? 1), Number(values.runs ?? 2_000)];
  const left = mutants.keys().filter((index) => mutants[index]?.name.includes(values.only ?? ''));
  let wrong = 0;
  const hunter = async (): Promise<void> => {
    for (const index of left) {
      const mutant = mutants[index];
      if (!mutant) continue;
      const caught = await caughtBy(index, from, most);
      if (!isRight(mutant, caught)) wrong += 1;
      const by =
        caught.property === undefined
          ? caught.runs === 0
            ? 'BROKEN'
            : 'ESCAPED'
          : `"${caught.property}"${isRight(mutant, caught) ? '' : ' (ANOTHER)'}`;
      say(`${mutant.name} | ${by} | ${caught.runs} | ${caught.says?.slice(0, 160) ?? ''}`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, hunter));
  say(`${mutants.length} mutants, ${wrong} not caught as they should be`);
  return wrong > 0 ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 2;
}
