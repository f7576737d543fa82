/** The rollout at scale: what the hub adds to the time its spokes need, how many requests, how much memory. See `--help`. */
import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { print, runBench, whole } from './bench-program.ts';
import { totalOf } from './hub-requests.ts';
import { type RolloutFigures, type RolloutRun, runRollout } from './rollout-run.ts';
import { percentile, round } from './statistics.ts';

const USAGE = `bench:rollout -- [--spokes 2000] [--batch 200] [--mode policy|manifestwork] [--steps 2] [--step-seconds 5]
  [--compare 200,2000] [--redis-url URL] [--seed 1] [--json FILE] [--cpu-profile FOLDER]
--steps: policies or templates that every spoke goes through. --compare: a run for each number of spokes, in batches of a tenth of
them unless --batch is given.`;
const HOW = `How it is taken: a real etcd and kube-apiserver, the hub bundled as in its image, simulated spokes, and in policy mode the stand-in
for the policy framework (which rolls answers of spokes up once a second), each a process of its own on this machine. A spoke is done
when the API server says so (the roll-up of its last policy, the status of its last work), and released when the Placement of its first policy names it or its first ManifestWork is
there; times are those at which this bench's watches tell. The overhead of a batch is the time from its predecessor's last spoke being
done to its own first and last being released. Between the two the hub writes the verdict of the spoke, edits the labels of its
ManagedCluster, waits until they are seen, and writes the status again. Requests are those of the hub's own user in the API server's
audit log, from the creation of the upgrade to nothing of it being left; watches and leases are left out. Memory and CPU by /proc.`;

/** Seconds of overhead per batch, at the 95th percentile. */
const MOST_OVERHEAD = 2;
/** Requests per spoke may grow by this share with the number of spokes. They fall a little: status writes belong to the second, not to the spoke. */
const MOST_GROWTH = 0.1;

const Arguments = z.object({
  spokes: whole(2000),
  batch: z.coerce.number().int().positive().optional(),
  mode: z.enum(['policy', 'manifestwork']).default('policy'),
  steps: whole(2),
  'step-seconds': z.coerce.number().positive().default(5),
  compare: z
    .string()
    .regex(/^\d+(,\d+)+$/, 'expected numbers of spokes, such as 200,2000')
    .transform((list) =>
      list
        .split(',')
        .map(Number)
        .sort((a, b) => a - b),
    )
    .optional(),
  'redis-url': z.string().optional(),
  seed: z.coerce.number().int().nonnegative().default(1),
  json: z.string().optional(),
  'cpu-profile': z.string().optional(),
});

function runsOf(args: z.output<typeof Arguments>): RolloutRun[] {
  const { mode, steps, seed } = args;
  return (args.compare ?? [args.spokes]).map((spokes) => ({
    spokes,
    batch: args.batch ?? Math.max(1, Math.ceil(spokes / 10)),
    mode,
    steps,
    stepSeconds: args['step-seconds'],
    redisUrl: args['redis-url'],
    seed,
    cpuProfile: args['cpu-profile'],
  }));
}

const overheads = ({ handOvers }: RolloutFigures) => handOvers.map(({ toFirst }) => toFirst);
const perSpoke = ({ run, requests }: RolloutFigures) => totalOf(requests.counts) / run.spokes;

function report(figures: RolloutFigures): void {
  const { run, handOvers, requests, cpuSeconds } = figures;
  const spread = (values: readonly number[]) => `${[0.5, 0.95, 1].map((share) => round(percentile(values, share), 2)).join(' / ')} s`;
  const rows: [string, string][] = [
    ['overhead per batch, to the first: p50 / p95 / max', spread(overheads(figures))],
    ['overhead per batch, to the last: p50 / p95 / max', spread(handOvers.map(({ toLast }) => toLast))],
    ['start, verdict, hub clean', `${figures.startSeconds} s, ${figures.verdictSeconds} s, ${figures.cleanSeconds} s`],
    ['of these, spokes at work', `${figures.spokeSeconds} s`],
    ['largest status of the upgrade', `${figures.statusBytes} bytes, ${figures.statusVersions} versions seen`],
    ['hub RSS at its highest', `${figures.hubPeakMiB} MiB`],
    [
      'CPU seconds',
      Object.entries(cpuSeconds)
        .map(([name, seconds]) => `${name} ${seconds}`)
        .join(', '),
    ],
    ['requests of the hub per spoke', String(round(perSpoke(figures), 2))],
    ...byCount(requests.counts).map(([what, count]): [string, string] => [`  ${what}`, `${round(count / run.spokes, 2)} (${count})`]),
    ...byCount(requests.refused).map(([what, count]): [string, string] => [`  refused: ${what}`, String(count)]),
  ];
  print(
    `\n${run.mode}: ${run.spokes} spokes in ${handOvers.length + 1} batches of ${run.batch}, ${run.steps} steps of ${run.stepSeconds} s, seed ${run.seed}`,
  );
  for (const [name, value] of rows) print(`  ${name.padEnd(52)} ${value}`);
}

const byCount = (counts: ReadonlyMap<string, number>) => [...counts].sort(([, a], [, b]) => b - a);

/** Says whether each target is met; true when all are. */
function judge(all: readonly RolloutFigures[]): boolean {
  const verdicts: [boolean, string][] = all
    .filter(({ handOvers }) => handOvers.length > 0)
    .map((figures) => {
      const p95 = percentile(overheads(figures), 0.95);
      return [
        p95 <= MOST_OVERHEAD,
        `${figures.run.spokes} spokes: overhead per batch at p95 ${round(p95, 2)} s, at most ${MOST_OVERHEAD} s`,
      ];
    });
  if (all.length > 1) {
    const each = all.map(perSpoke);
    const growth = Math.max(...each) / (each[0] ?? Number.NaN) - 1;
    const list = all.map((figures, index) => `${round(each[index] ?? Number.NaN, 2)} with ${figures.run.spokes}`).join(', ');
    verdicts.push([growth <= MOST_GROWTH, `requests per spoke: ${list}; may grow by ${MOST_GROWTH * 100} %`]);
  }
  print('');
  for (const [met, what] of verdicts) print(`${met ? 'met' : 'MISSED'}: ${what}`);
  return verdicts.every(([met]) => met);
}

/** Maps as objects. */
const toJson = (figures: RolloutFigures) => ({
  ...figures,
  requests: { counts: Object.fromEntries(figures.requests.counts), refused: Object.fromEntries(figures.requests.refused) },
});

async function main(args: z.output<typeof Arguments>): Promise<void> {
  const all: RolloutFigures[] = [];
  for (const run of runsOf(args)) {
    const figures = await runRollout(run);
    report(figures);
    all.push(figures);
  }
  if (!judge(all)) process.exitCode = 1;
  if (args.json) await writeFile(args.json, `${JSON.stringify(all.map(toJson), undefined, 2)}\n`);
}

await runBench({ usage: USAGE, how: HOW, options: Arguments }, main);
