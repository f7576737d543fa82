/** Prints the table of docs/sizing.md anew: the benches of pre-caching and rollouts for each size of a fleet. See `--help`. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage } from '@flotilla/api';
import { cleanupOnExit, runCommand } from '@flotilla/control-plane/processes';
import { z } from 'zod';
import { round } from './statistics.ts';

const USAGE = `bench:sizing -- [--spokes 100,500,2000]
Runs bench:precache and bench:rollout for each number of spokes, one after the other, and prints the table of docs/sizing.md. Takes about
20 minutes for the default on two quiet cores. The page's figures are of one run each.`;

const Arguments = z.object({
  spokes: z
    .string()
    .regex(/^\d+(,\d+)*$/, 'expected numbers of spokes, such as 100,500')
    .default('100,500,2000')
    .transform((list) => list.split(',').map(Number)),
});
/** Of one run: what a bench writes with `--json`. */
const Precache = z.looseObject({
  lastJobSeconds: z.number(),
  verdictSeconds: z.looseObject({ p99: z.number() }),
  hubPeakMiB: z.number(),
  cpuSeconds: z.record(z.string(), z.number()),
  totalSeconds: z.number(),
  statusKiB: z.number(),
});
const Rollout = z.looseObject({
  hubPeakMiB: z.number(),
  cpuSeconds: z.record(z.string(), z.number()),
  handOvers: z.array(z.looseObject({ toFirst: z.number() })),
  verdictSeconds: z.number(),
});

const COLUMNS = [
  'spokes',
  'pre-caching: last job begins',
  'verdicts, p99',
  'hub memory',
  'hub CPU',
  'API server CPU',
  'size of the status',
  'rollout: longest hand-over of a batch',
  'hub memory',
] as const;

/** One row of the table. */
async function measure(spokes: number, dir: string): Promise<string[]> {
  const precache = Precache.parse(await bench('precache', ['--spokes', String(spokes), '--transport', 'work'], dir));
  const [rollout] = z.tuple([Rollout]).parse(await bench('rollout', ['--spokes', String(spokes)], dir));
  const ofHub = (each: Readonly<Record<string, number>>) => each.hub ?? Number.NaN;
  const ofServer = (each: Readonly<Record<string, number>>) => each.apiServer ?? Number.NaN;
  return [
    String(spokes),
    `${precache.lastJobSeconds} s`,
    `${precache.verdictSeconds.p99} s`,
    `${precache.hubPeakMiB} MiB`,
    `${ofHub(precache.cpuSeconds)} s`,
    `${ofServer(precache.cpuSeconds)} s`,
    `${precache.statusKiB} KiB`,
    `${round(Math.max(0, ...rollout.handOvers.map(({ toFirst }) => toFirst)), 2)} s`,
    `${rollout.hubPeakMiB} MiB`,
  ];
}

/** Runs a bench in a process of its own, so that none is measured with the memory of another. */
async function bench(name: string, args: readonly string[], dir: string): Promise<unknown> {
  const file = join(dir, `${name}.json`);
  const program = join(import.meta.dirname, `${name}.ts`);
  const flags = ['--disable-warning=ExperimentalWarning', program, ...args, '--json', file];
  // A bench that misses a target ends with 1 after it has written its figures.
  await rm(file, { force: true });
  await runCommand(process.execPath, flags, { timeoutMs: 3_600_000 }).catch((error: unknown) =>
    process.stderr.write(`${name} ${args.join(' ')}: ${errorMessage(error)}\n`),
  );
  return JSON.parse(await readFile(file, 'utf8'));
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { spokes: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help) return void process.stdout.write(`${USAGE}\n`);
  const parsed = Arguments.safeParse(values);
  if (!parsed.success) {
    process.stderr.write(`${z.prettifyError(parsed.error)}\n${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  cleanupOnExit();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-sizing-'));
  try {
    const row = (cells: readonly string[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`);
    process.stdout.write(`${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}\n\n`);
    row(COLUMNS);
    row(COLUMNS.map(() => '---'));
    for (const spokes of parsed.data.spokes) row(await measure(spokes, dir));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 1;
}
