/** The console at scale: a real browser on a hub whose objects change all the time. See `--help`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { z } from 'zod';
import { type ConsoleFigures, runConsoleBench } from './console-run.ts';
import { round } from './statistics.ts';

const USAGE = `bench:console -- [--spokes 5000] [--upgrades 10] [--changes 1000] [--direct 100] [--minutes 1] [--long] [--seed 1] [--json FILE]
--changes: of spokes, a second; --direct of them by writes of ManagedClusters, the others in the statuses of the upgrades, each written once a second.
--long: streams are cut and the machine sleeps for a minute, not for some seconds.`;
const HOW = `How it is taken: a real etcd and kube-apiserver, the command line bundled as in a release, Debian's Chromium without a window. First rows: from the start of the
command's process until a row is drawn, the browser running already. Write to pixel: a label of a row in sight is written four times a second beside the load; from the sending of
the write (and from the server's answer to it) until the first frame after the page has the text; percentiles over all of them. Bytes: a second viewer that asks as a browser
does, on the wire. Long tasks: the page's PerformanceObserver, from five seconds after the first rows on. Heap: of the page after a forced collection, after the first rows and at the end.
Memory and CPU of the server by /proc, VmRSS once a second. Requests: the API server's audit log of the console's own user. Rows: at random moments the load stands still for
one second, then rows in sight at random places are compared with a fresh list.`;

/** What the console may need at 5,000 spokes. */
const MOST = {
  firstRowsSeconds: 2,
  pixelP99Ms: 1_000,
  bytesPerSecond: 20_000,
  longestTaskMs: 50,
  heapMiB: 80,
  serverMiB: 200,
} as const;

const Arguments = z.object({
  spokes: z.coerce.number().int().min(20).max(20_000).default(5_000),
  upgrades: z.coerce.number().int().min(1).max(100).default(10),
  changes: z.coerce.number().int().positive().default(1_000),
  direct: z.coerce.number().int().nonnegative().default(100),
  minutes: z.coerce.number().positive().default(1),
  long: z.boolean().default(false),
  seed: z.coerce.number().int().default(1),
  json: z.string().optional(),
});
const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    spokes: text,
    upgrades: text,
    changes: text,
    direct: text,
    minutes: text,
    long: { type: 'boolean' },
    seed: text,
    json: text,
    help: { type: 'boolean' },
  },
});

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function judge(name: string, value: number, most: number, unit: string): void {
  print(`${name.padEnd(28)} ${round(value, 2)} ${unit} (wanted ${most}: ${value <= most ? 'met' : 'MISSED'})`);
}

function report(figures: ConsoleFigures): void {
  judge('first rows', figures.firstRowsSeconds, MOST.firstRowsSeconds, 's');
  print(`write to pixel, from sending  p50 ${figures.pixelMs.sent.p50} ms, p99 ${figures.pixelMs.sent.p99} ms`);
  print(`write to pixel, from answer   p50 ${figures.pixelMs.acknowledged.p50} ms, p99 ${figures.pixelMs.acknowledged.p99} ms`);
  judge('write to pixel, p99', figures.pixelMs.sent.p99, MOST.pixelP99Ms, 'ms');
  print(`probes ${figures.probes}, never seen because overwritten or late: ${figures.unseen}`);
  judge('bytes a second and viewer', figures.bytesPerSecond, MOST.bytesPerSecond, 'B/s');
  print(`snapshot                      ${figures.snapshotBytes} B`);
  judge('longest task after load', figures.longestTaskMs, MOST.longestTaskMs, 'ms');
  print(`tasks over 50 ms              ${figures.longTasks}`);
  judge('heap of the page at the end', figures.heapMiB.end, MOST.heapMiB, 'MiB');
  print(`heap of the page at the start ${round(figures.heapMiB.start)} MiB`);
  judge('memory of the server', figures.server.rssMiB, MOST.serverMiB, 'MiB');
  print(`peak of the server            ${figures.server.peakMiB} MiB (VmHWM, with its start)`);
  print(`CPU of the server             ${round(figures.server.cores * 100)} % of a core`);
  print(`changes                       ${figures.changesPerSecond} written a second, ${figures.failedWrites} writes failed`);
  print(`requests of the console       ${JSON.stringify(figures.requests)}`);
  for (const [name, seen] of Object.entries(figures.truth))
    print(`rows equal a fresh list       ${name}: ${seen.compared} compared, ${seen.different} different, after ${seen.seconds} s`);
}

if (values.help) print(`${USAGE}\n\n${HOW}`);
else {
  cleanupOnExit();
  const args = Arguments.parse(values);
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-bench-console-'));
  try {
    print(
      `${args.spokes} spokes in ${args.upgrades} upgrades, ${args.changes} changes a second for ${args.minutes} min; load of the machine ${loadavg()[0]}`,
    );
    const figures = await runConsoleBench({ ...args, folder, say: print });
    report(figures);
    print(`load of the machine at the end ${loadavg()[0]}\n\n${HOW}`);
    if (args.json) await writeFile(args.json, JSON.stringify(figures, null, 2));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
