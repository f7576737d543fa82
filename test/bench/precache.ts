/** Pre-caching at scale: how fast, how many requests, how much memory. See `--help`. */
import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { print, runBench, whole } from './bench-program.ts';
import { benchPrecache, type Percentiles, type PrecacheFigures } from './precache-run.ts';

const USAGE = `bench:precache -- [--spokes 500] [--upgrades 1] [--transport auto|work|actions] [--scrape watch|poll]
  [--agents stock|own] [--nodes 1] [--regions N [--pulling 100000] [--region-pulling 100000]] [--redis-url URL] [--runs 1] [--seed 1] [--job-seconds 20] [--json FILE] [--cpu-profile FOLDER]
--upgrades: so many upgrades, created at once, share the spokes. --transport: default as the hub chooses. --scrape: whether agents know
works that ask to be watched, as the stock one does in its later releases, or poll them every 10 to 19 s. --agents: of the fleet framework, or
ours, which make the puller's account. --runs: one after the other
in one hub process, whose memory is told after each. --regions: limits of the fleet, of all and of so many regions, with so many places each.`;
const HOW = `How it is taken: a real etcd and kube-apiserver, the hub as a process of its own, and simulated spokes with the stock agents' semantics
in another process, all on this machine. Job starts and ends are noted by the spokes; status changes by a watch of this bench; writes and
reads by the API server's own apiserver_request_total, until nothing of the run is left on the hub: of works, the agents write status
and finalizers (PATCH), the hub the rest. Memory and CPU by /proc, the highest since the run began. Leases and the bench's own questions
(LIST of actions, views and works, once a second at the end) are left out.`;

const Arguments = z.object({
  spokes: whole(500),
  upgrades: whole(1),
  transport: z.enum(['auto', 'work', 'actions']).optional(),
  scrape: z.enum(['watch', 'poll']).default('watch'),
  agents: z.enum(['stock', 'own']).default('stock'),
  nodes: whole(1),
  'redis-url': z.string().optional(),
  json: z.string().optional(),
  seed: z.coerce.number().int().nonnegative().default(1),
  'job-seconds': z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'expected seconds')
    .default('20'),
  runs: whole(1),
  'cpu-profile': z.string().optional(),
  regions: z.coerce.number().int().positive().optional(),
  pulling: whole(100_000),
  'region-pulling': whole(100_000),
});

function report(f: PrecacheFigures): void {
  const spread = ({ p50, p95, p99 }: Percentiles) => `${p50} / ${p95} / ${p99} s`;
  const rows: [string, string][] = [
    ['first, median, last job started after the CR', `${f.firstJobSeconds} s, ${f.medianJobSeconds} s, ${f.lastJobSeconds} s`],
    ['job end to CR status p50 / p95 / p99', spread(f.verdictSeconds)],
    ['of this, until the agent had told it', spread(f.toldSeconds)],
    ['hub writes and reads per spoke', `${f.hubWritesPerSpoke} and ${f.hubReadsPerSpoke}`],
    ["agents' writes per spoke", `${f.agentWritesPerSpoke}`],
    ['jobs created per spoke, least and most', `${f.jobsPerSpoke.least} and ${f.jobsPerSpoke.most}`],
    ['hub RSS at the end, at its highest', `${f.hubRssMiB} MiB, ${f.hubPeakMiB} MiB`],
    [
      'CPU seconds',
      Object.entries(f.cpuSeconds)
        .map(([name, seconds]) => `${name} ${seconds}`)
        .join(', '),
    ],
    ['last verdict, hub clean', `${f.totalSeconds} s, ${f.cleanSeconds} s`],
    ['largest ClusterGroupUpgrade', `${f.statusKiB} KiB`],
    [
      'its versions, their bytes a second: mean, most',
      `${f.statusVersions}, ${f.statusKiBPerSecond.mean} KiB, ${f.statusKiBPerSecond.most} KiB`,
    ],
  ];
  print(`\n${f.spokes} spokes in ${f.upgrades} upgrades, transport ${f.transport}, queue store ${f.store}`);
  for (const [name, value] of rows) print(`  ${name.padEnd(46)} ${value}`);
}

async function main(args: z.output<typeof Arguments>): Promise<void> {
  const {
    'job-seconds': jobSeconds,
    'cpu-profile': cpuProfile,
    'redis-url': redisUrl,
    'region-pulling': regionPulling,
    json,
    transport,
    ...rest
  } = args;
  let ended = 0;
  const all = await benchPrecache({ ...rest, transport, jobSeconds, cpuProfile, redisUrl, regionPulling }, ({ rssMiB, peakMiB }) => {
    ended += 1;
    if (rest.runs > 1) print(`run ${ended}: hub RSS at the end, at its highest ${rssMiB} MiB, ${peakMiB} MiB`);
  });
  for (const figures of all) report(figures);
  if (json) await writeFile(json, `${JSON.stringify(all.length === 1 ? all[0] : all, null, 2)}\n`);
}

await runBench({ usage: USAGE, how: HOW, options: Arguments }, main);
