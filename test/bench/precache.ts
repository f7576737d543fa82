/** Pre-caching at scale: how fast, how many requests, how much memory. See `--help`. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import { type Client, WatchCache } from '@flotilla/runtime';
import { z } from 'zod';
import { bundleProgram, startHub, startSpokes } from '../../tools/src/fleets/programs.ts';
import { appImages } from '../../tools/src/images/apps.ts';
import { applyCrds } from '../fixtures/crds.ts';
import { eventually } from '../fixtures/eventually.ts';
import { difference, readRequestCounts, splitRequests } from './api-metrics.ts';
import { cpuOf, median, percentile, readProcess, round, untilQuiet } from './statistics.ts';

const HOW = `How it is taken: a real etcd and kube-apiserver, the hub as a process of its own, and simulated spokes with the stock agent's semantics
in another process, all on this machine. Job starts and ends are noted by the spokes; status changes by a watch of this bench; writes and
reads by the API server's own apiserver_request_total, until nothing of the run is left on the hub; memory and CPU by /proc. Leases and
the bench's own questions (LIST of actions and views, once a second at the end) are left out.`;

const { values } = parseArgs({
  options: {
    spokes: { type: 'string', default: '500' },
    store: { type: 'string', default: 'auto' },
    json: { type: 'string' },
    seed: { type: 'string', default: '1' },
    'job-seconds': { type: 'string', default: '20' },
    runs: { type: 'string', default: '1' },
    help: { type: 'boolean' },
  },
});

const SpokeReport = z.object({
  spokes: z.record(
    z.string(),
    z.object({ jobsCreated: z.array(z.unknown()), events: z.array(z.object({ at: z.number(), type: z.string() })) }),
  ),
});

interface Figures {
  readonly spokes: number;
  readonly store: string;
  readonly firstJobSeconds: number;
  readonly medianJobSeconds: number;
  readonly lastJobSeconds: number;
  readonly verdictSeconds: { p50: number; p95: number; p99: number };
  readonly hubWritesPerSpoke: number;
  readonly hubReadsPerSpoke: number;
  readonly agentWritesPerSpoke: number;
  readonly jobsPerSpoke: { least: number; most: number };
  readonly hubRssMiB: number;
  readonly hubPeakMiB: number;
  /** By process, from the CR to the last verdict. */
  readonly cpuSeconds: Record<string, number>;
  readonly statusKiB: number;
  readonly totalSeconds: number;
  readonly cleanSeconds: number;
  readonly requests: Record<string, number>;
}

/** One whole run on fresh servers. */
async function run(count: number, store: string, seed: number): Promise<Figures> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-bench-'));
  await using server = await startApiServer();
  const client = await server.client();
  try {
    await applyCrds(client);
    const reportFile = join(dir, 'spokes.json');
    await using spokes = await startSpokes(server.kubeconfig, dir, count, [
      '--seed',
      String(seed),
      '--job-seconds',
      values['job-seconds'],
      '--report',
      reportFile,
    ]);
    await using hub = await startHub(
      server.kubeconfig,
      dir,
      ['--queue-store', store, '--precache-image', 'registry.example/image-puller:bench'],
      {},
      await bundleProgram(appImages.hub, dir),
    );
    await eventually(async () => (await hub.output()).includes('Caches are filled'));
    await client.create(PreCachingConfig, {
      metadata: { name: 'bench', namespace: 'default' },
      spec: { overrides: { platformImage: `registry.example/release@sha256:${'a'.repeat(64)}` } },
    });
    await untilQuiet([server.apiServerPid]);
    const before = await readRequestCounts(client);
    const pids = { hub: hub.pid, spokes: spokes.pid, apiServer: server.apiServerPid, etcd: server.etcdPid, bench: process.pid };
    const cpuBefore = cpuOf(pids);
    const watched = watchStates(client);
    const start = Date.now();
    await client.create(ClusterGroupUpgrade, upgrade());
    await eventually(() => watched.succeeded.size === count, 600_000, `all ${count} spokes Succeeded`);
    const totalSeconds = (Date.now() - start) / 1000;
    const cpuAfter = cpuOf(pids);
    // Cleaning up belongs to the writes: they are counted when nothing is left on the hub.
    const asked = { lists: 0 };
    while (await leftOnHub(client, asked)) {
      if (asked.lists > 1200) throw new Error('objects are left on the hub ten minutes after the last verdict');
      await new Promise((done) => setTimeout(done, 1000));
    }
    const cleanSeconds = (Date.now() - start) / 1000;
    const after = await readRequestCounts(client);
    const hubNow = readProcess(hub.pid);
    watched.stop();
    await spokes.stop();
    const report = SpokeReport.parse(JSON.parse(await readFile(reportFile, 'utf8')));
    return figures({
      count,
      store,
      start,
      totalSeconds,
      cleanSeconds,
      report,
      watched,
      counts: difference(before, after),
      ownLists: asked.lists,
      hub: hubNow,
      cpu: Object.fromEntries(Object.keys(cpuAfter).map((name) => [name, round((cpuAfter[name] ?? 0) - (cpuBefore[name] ?? 0))])),
    });
  } finally {
    await client.close();
    await rm(dir, { recursive: true, force: true });
  }
}

const upgrade = () => ({
  metadata: { name: 'bench', namespace: 'default' },
  spec: {
    preCaching: true,
    enable: false,
    preCachingConfigRef: { name: 'bench' },
    clusterLabelSelectors: [{ matchExpressions: [{ key: 'name', operator: 'Exists' }] }],
    remediationStrategy: { maxConcurrency: 100, timeout: 240 },
  },
});

/** Lists one of each at most; the answers are counted by the server like everybody's, so the caller takes them off again. */
async function leftOnHub(client: Client, asked: { lists: number }): Promise<boolean> {
  for (const kind of [ManagedClusterAction, ManagedClusterView]) {
    asked.lists += 1;
    const answer = await client.request('GET', `/apis/${kind.apiVersion}/${kind.plural}?limit=1`);
    if (z.looseObject({ items: z.array(z.unknown()) }).parse(answer).items.length > 0) return true;
  }
  return false;
}

/** When each spoke's state became Succeeded, as anyone who watches the upgrade sees it; and the largest status. */
function watchStates(client: Client) {
  const succeeded = new Map<string, number>();
  let largest = 0;
  const abort = new AbortController();
  const cache = new WatchCache(client, ClusterGroupUpgrade, { namespace: 'default' });
  cache.subscribe(({ object }) => {
    largest = Math.max(largest, JSON.stringify(object).length);
    for (const [cluster, state] of Object.entries(object.status?.precaching?.status ?? {}))
      if (state === 'Succeeded' && !succeeded.has(cluster)) succeeded.set(cluster, Date.now());
  });
  cache.start(abort.signal);
  return { succeeded, largest: () => largest, stop: () => abort.abort() };
}

function figures(input: {
  count: number;
  store: string;
  start: number;
  totalSeconds: number;
  cleanSeconds: number;
  report: z.output<typeof SpokeReport>;
  watched: ReturnType<typeof watchStates>;
  counts: ReadonlyMap<string, number>;
  ownLists: number;
  hub: ReturnType<typeof readProcess>;
  cpu: Record<string, number>;
}): Figures {
  const { count, start, report, watched, hub } = input;
  const at = (events: { at: number; type: string }[], type: string) => events.find((event) => event.type === type)?.at ?? Number.NaN;
  const spokes = Object.entries(report.spokes);
  const started = spokes.map(([, { events }]) => (at(events, 'job-started') - start) / 1000);
  const verdict = spokes.map(([name, { events }]) => ((watched.succeeded.get(name) ?? Number.NaN) - at(events, 'job-succeeded')) / 1000);
  const jobs = spokes.map(([, { jobsCreated }]) => jobsCreated.length);
  const requests = splitRequests(input.counts);
  return {
    spokes: count,
    store: input.store,
    firstJobSeconds: round(Math.min(...started)),
    medianJobSeconds: round(median(started)),
    lastJobSeconds: round(Math.max(...started)),
    verdictSeconds: { p50: round(median(verdict)), p95: round(percentile(verdict, 0.95)), p99: round(percentile(verdict, 0.99)) },
    hubWritesPerSpoke: round(requests.hubWrites / count, 2),
    hubReadsPerSpoke: round((requests.hubReads - input.ownLists) / count, 3),
    agentWritesPerSpoke: round(requests.agentWrites / count, 2),
    jobsPerSpoke: { least: Math.min(...jobs), most: Math.max(...jobs) },
    hubRssMiB: hub.rssMiB,
    hubPeakMiB: hub.peakMiB,
    cpuSeconds: input.cpu,
    statusKiB: round(watched.largest() / 1024),
    totalSeconds: round(input.totalSeconds),
    cleanSeconds: round(input.cleanSeconds),
    requests: requests.detail,
  };
}

function print(f: Figures): void {
  const rows: [string, string][] = [
    ['first, median, last job started after the CR', `${f.firstJobSeconds} s, ${f.medianJobSeconds} s, ${f.lastJobSeconds} s`],
    ['job end to CR status p50 / p95 / p99', `${f.verdictSeconds.p50} / ${f.verdictSeconds.p95} / ${f.verdictSeconds.p99} s`],
    ['hub writes and reads per spoke', `${f.hubWritesPerSpoke} and ${f.hubReadsPerSpoke}`],
    ["agents' status writes per spoke", `${f.agentWritesPerSpoke}`],
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
  ];
  process.stdout.write(
    `\n${f.spokes} spokes, queue store ${f.store}\n${rows.map(([name, value]) => `  ${name.padEnd(46)} ${value}\n`).join('')}`,
  );
}

if (values.help) {
  process.stdout.write(
    `bench:precache -- [--spokes 500] [--store auto|redis|in-process] [--runs 1] [--seed 1] [--job-seconds 20] [--json FILE]\n${HOW}\n`,
  );
} else {
  cleanupOnExit();
  process.stdout.write(`${HOW}\n`);
  const all: Figures[] = [];
  for (let i = 0; i < Number(values.runs); i += 1) {
    const result = await run(Number(values.spokes), values.store, Number(values.seed) + i);
    print(result);
    all.push(result);
  }
  if (values.json) await writeFile(values.json, `${JSON.stringify(all.length === 1 ? all[0] : all, null, 2)}\n`);
}
