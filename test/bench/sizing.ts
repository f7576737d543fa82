/** Prints the table of docs/sizing.md anew: the benches of pre-caching and rollouts for each size of a fleet. See `--help`. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '@flotilla/api';
import { runCommand } from '@flotilla/control-plane/processes';
import { z } from 'zod';
import { print, runBench } from './bench-program.ts';
import { COLUMNS, loadNow, PrecacheResult, RolloutResult, rowOf, type SizeFigures, tableLine, withTable } from './sizing-table.ts';

const USAGE = `bench:sizing -- [--spokes 100,500] [--rollout-up-to 500] [--write]
Runs bench:precache, and bench:rollout up to that many spokes, for each number of spokes, one after the other, and prints the table of
docs/sizing.md; --write puts it there. One run each. The default took 9 minutes beside ten other busy processes.`;

const PAGE = join(import.meta.dirname, '../../docs/sizing.md');
/** A bench at its longest. */
const PATIENCE_MS = 3_600_000;

const Arguments = z.object({
  spokes: z
    .string()
    .regex(/^\d+(,\d+)*$/, 'expected numbers of spokes, such as 100,500')
    .default('100,500')
    .transform((list) => list.split(',').map(Number)),
  'rollout-up-to': z.coerce.number().int().nonnegative().default(500),
  write: z.boolean().default(false),
});

/** Runs what one row is made of. */
async function measure(spokes: number, dir: string, withRollout: boolean): Promise<SizeFigures> {
  const load = loadNow();
  const size = ['--spokes', String(spokes)];
  const precache = PrecacheResult.parse(await bench('precache', [...size, '--transport', 'work'], dir));
  const rollout = withRollout ? z.tuple([RolloutResult]).parse(await bench('rollout', size, dir))[0] : undefined;
  return { spokes, precache, rollout, load };
}

/** Runs a bench in a process of its own, so that none is measured with the memory of another. */
async function bench(name: string, args: readonly string[], dir: string): Promise<unknown> {
  const file = join(dir, `${name}.json`);
  const program = join(import.meta.dirname, `${name}.ts`);
  const flags = ['--disable-warning=ExperimentalWarning', program, ...args, '--json', file];
  // A bench that misses a target ends with 1 after it has written its figures.
  await rm(file, { force: true });
  await runCommand(process.execPath, flags, { timeoutMs: PATIENCE_MS }).catch((error: unknown) =>
    process.stderr.write(`${name} ${args.join(' ')}: ${errorMessage(error)}\n`),
  );
  return JSON.parse(await readFile(file, 'utf8'));
}

/** Measures each size, printing each row when it is there. */
async function printTable(sizes: readonly number[], mostOfRollouts: number): Promise<string[]> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-sizing-'));
  const lines: string[] = [];
  const say = (line: string) => {
    lines.push(line);
    print(line);
  };
  try {
    say(`Taken on ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), one run each:\n`);
    say(tableLine(COLUMNS));
    say(tableLine(COLUMNS.map(() => '---')));
    for (const spokes of sizes) say(tableLine(rowOf(await measure(spokes, dir, spokes <= mostOfRollouts))));
    return lines;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function main(args: z.output<typeof Arguments>): Promise<void> {
  const lines = await printTable(args.spokes, args['rollout-up-to']);
  if (args.write) await writeFile(PAGE, withTable(await readFile(PAGE, 'utf8'), lines));
}

await runBench({ usage: USAGE, options: Arguments }, main);
