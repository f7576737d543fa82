import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Label } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, FleetLimitsName, PreCachingConfig, PrecacheView } from '@flotilla/api/ran';
import { registerStop } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { appImages } from '../../tools/src/images/apps.ts';
import { difference, readRequestCounts, type SplitRequests, splitRequests } from '../fixtures/api-metrics.ts';
import { applyCrds } from '../fixtures/crds.ts';
import { bundleProgram, type RunningProgram, startHub, startSpokes } from '../support/programs.ts';
import { PrecacheWatch } from './precache-watch.ts';
import { cpuOf, median, percentile, readProcess, resetPeak, round, untilQuiet } from './statistics.ts';

/** What is measured. */
interface PrecacheRun {
  readonly spokes: number;
  /** Upgrades that share the spokes evenly, all created at once. */
  readonly upgrades: number;
  /** Absent: the hub's own memory. */
  readonly redisUrl: string | undefined;
  /** Absent: as the hub chooses. */
  readonly transport: string | undefined;
  /** How agents notice that a Job has changed: `watch` where a work asks for it, or `poll`. */
  readonly scrape: string;
  /** `stock`, or `own`: they read what they apply in the same write, and make the puller's account. */
  readonly agents: 'stock' | 'own';
  /** Nodes of each spoke, which own agents count. */
  readonly nodes: number;
  readonly seed: number;
  readonly jobSeconds: string;
  /** How often, one after the other in one hub process. */
  readonly runs: number;
  readonly cpuProfile: string | undefined;
  /** Regions that the spokes are in evenly, each with a limit of its own; undefined: nothing is limited. */
  readonly regions?: number | undefined;
  /** Clusters that may pull at a time: of all, and of a region. */
  readonly pulling: number;
  readonly regionPulling: number;
}

/** In seconds. */
export type Percentiles = Readonly<Record<'p50' | 'p95' | 'p99', number>>;

/** What was measured. */
export interface PrecacheFigures {
  readonly spokes: number;
  readonly upgrades: number;
  readonly store: string;
  readonly transport: string;
  readonly firstJobSeconds: number;
  readonly medianJobSeconds: number;
  readonly lastJobSeconds: number;
  readonly verdictSeconds: Percentiles;
  /** Of these, until the agent had written to the hub how the job ended. */
  readonly toldSeconds: Percentiles;
  readonly hubWritesPerSpoke: number;
  readonly hubReadsPerSpoke: number;
  readonly agentWritesPerSpoke: number;
  readonly jobsPerSpoke: { least: number; most: number };
  readonly hubRssMiB: number;
  readonly hubPeakMiB: number;
  /** By process, from the CR to the last verdict. */
  readonly cpuSeconds: Record<string, number>;
  readonly statusKiB: number;
  /** Bytes of all versions of the upgrades, per second: the mean until the last verdict, and the most. */
  readonly statusKiBPerSecond: { mean: number; most: number };
  readonly statusVersions: number;
  readonly totalSeconds: number;
  readonly cleanSeconds: number;
  readonly requests: Record<string, number>;
}

const SpokeReport = z.object({
  spokes: z.record(
    z.string(),
    z.object({
      jobsCreated: z.array(z.object({ at: z.number() })),
      events: z.array(z.object({ at: z.number(), type: z.string(), name: z.string() })),
    }),
  ),
});

const VERDICTS_MS = 900_000;
const CLEAN_MS = 900_000;

/** Everything that runs. */
interface Bench {
  readonly run: PrecacheRun;
  readonly server: ApiServer;
  readonly client: Client;
  readonly hub: RunningProgram;
  readonly pids: Readonly<Record<string, number>>;
}

/** What one run left to be judged with the spokes' own report, which comes at the end. */
interface Measured {
  readonly start: number;
  readonly end: number;
  readonly totalSeconds: number;
  readonly watch: PrecacheWatch;
  readonly requests: SplitRequests;
  readonly ownLists: number;
  readonly hub: ReturnType<typeof readProcess>;
  readonly cpu: Record<string, number>;
}

/** Runs on fresh servers, one after the other in one hub process. `onRun` hears of each as it ends. */
export async function benchPrecache(run: PrecacheRun, onRun: (memory: ReturnType<typeof readProcess>) => void): Promise<PrecacheFigures[]> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-bench-'));
  const stop = registerStop(() => rm(dir, { recursive: true, force: true }));
  try {
    await using server = await startApiServer();
    const client = await server.client();
    await applyCrds(client);
    const reportFile = join(dir, 'spokes.json');
    const shape = ['--seed', String(run.seed), '--job-seconds', run.jobSeconds, '--report', reportFile];
    // The stock agent makes one write for applying and another for reading.
    const kind = run.agents === 'own' ? ['--work-feedback', 'settled', '--puller-account'] : ['--work-feedback', 'immediate'];
    const agents = [...kind, '--work-scrape', run.scrape, '--nodes', String(run.nodes)];
    await using spokes = await startSpokes(server.kubeconfig, dir, run.spokes, [...shape, ...agents]);
    if (run.regions !== undefined) await limit(client, run, run.regions);
    await using hub = await startBenchHub(server.kubeconfig, dir, run);
    const config = { overrides: { platformImage: `registry.example/release@sha256:${'a'.repeat(64)}` } };
    await client.create(PreCachingConfig, { metadata: { name: 'bench', namespace: 'default' }, spec: config });
    const pids = { hub: hub.pid, spokes: spokes.pid, apiServer: server.apiServerPid, etcd: server.etcdPid, bench: process.pid };
    const measured: Measured[] = [];
    for (let index = 0; index < run.runs; index += 1) {
      const one = await measure({ run, server, client, hub, pids });
      onRun(one.hub);
      measured.push(one);
    }
    await spokes.stop();
    const report = SpokeReport.parse(JSON.parse(await readFile(reportFile, 'utf8')));
    await client.close();
    return measured.map((one) => figures(run, one, report));
  } finally {
    await stop();
  }
}

/** Puts each cluster into a region, and limits all and each of them. */
async function limit(client: Client, { pulling, regionPulling }: PrecacheRun, regions: number): Promise<void> {
  const { items } = await client.list(ManagedCluster);
  for (const [index, { metadata }] of items.entries())
    await client.patch(ManagedCluster, metadata, { metadata: { labels: { region: `region-${index % regions}` } } }, { type: 'merge' });
  const limits = { pulling, byLabel: [{ label: 'region', pulling: regionPulling }] };
  const metadata = { namespace: 'default', name: FleetLimitsName.configMap };
  await client.create(ConfigMap, { metadata, data: { [FleetLimitsName.key]: JSON.stringify(limits) } });
}

async function startBenchHub(kubeconfig: string, dir: string, run: PrecacheRun): Promise<RunningProgram> {
  const transport = run.transport === undefined ? [] : ['--transport', run.transport];
  const redis = run.redisUrl === undefined ? [] : ['--redis-url', run.redisUrl];
  const hub = await startHub(
    kubeconfig,
    dir,
    ['--precache-image', 'registry.example/image-puller:bench', ...transport, ...redis],
    run.cpuProfile ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${run.cpuProfile}` } : {},
    await bundleProgram(appImages.hub, dir),
  );
  await eventually(async () => (await hub.output()).includes('Caches are filled'), 'the hub to lead', 60_000);
  return hub;
}

async function measure({ run, server, client, hub, pids }: Bench): Promise<Measured> {
  await untilQuiet([server.apiServerPid, hub.pid]);
  resetPeak(hub.pid);
  const before = await readRequestCounts(client);
  const cpuBefore = cpuOf(pids);
  const watch = new PrecacheWatch(client);
  const start = Date.now();
  for (const upgrade of upgradesOf(run)) await client.create(ClusterGroupUpgrade, upgrade);
  await eventually(() => watch.succeeded.size === run.spokes, `all ${run.spokes} spokes Succeeded`, VERDICTS_MS);
  const totalSeconds = (Date.now() - start) / 1000;
  const cpuAfter = cpuOf(pids);
  // Cleaning up belongs to the writes: they are counted when nothing is left on the hub.
  const asked = { lists: 0 };
  const isClean = async () => !(await leftOnHub(client, asked));
  await untilEachSecond(isClean, 'the hub to be clean');
  const end = Date.now();
  const requests = splitRequests(difference(before, await readRequestCounts(client)));
  watch.stop();
  for (const { metadata } of upgradesOf(run)) await client.delete(ClusterGroupUpgrade, metadata);
  return {
    start,
    end,
    totalSeconds,
    watch,
    requests,
    ownLists: asked.lists,
    hub: readProcess(hub.pid),
    cpu: Object.fromEntries(Object.keys(cpuAfter).map((name) => [name, round((cpuAfter[name] ?? 0) - (cpuBefore[name] ?? 0))])),
  };
}

/** Asks once a second: these questions are the API server's work too. */
async function untilEachSecond(ask: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + CLEAN_MS;
  while (!(await ask())) {
    if (Date.now() > deadline) throw new Error(`${what} did not hold within ${CLEAN_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** Each has its share of the spokes, as a list; a single one selects them all. */
function upgradesOf({ spokes, upgrades }: PrecacheRun) {
  const share = Math.ceil(spokes / upgrades);
  return Array.from({ length: upgrades }, (_, index) => ({
    metadata: { name: `bench-${index + 1}`, namespace: 'default' },
    spec: {
      preCaching: true,
      enable: false,
      preCachingConfigRef: { name: 'bench' },
      ...(upgrades === 1
        ? { clusterLabelSelectors: [{ matchExpressions: [{ key: 'name', operator: 'Exists' }] }] }
        : { clusters: spokeNames(index * share, Math.min((index + 1) * share, spokes)) }),
      remediationStrategy: { maxConcurrency: 100, timeout: 240 },
    },
  }));
}

const spokeNames = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, index) => `spoke-${from + index + 1}`);

/** Lists one of each at most; the answers are counted by the server like everybody's, so the caller takes them off again. */
async function leftOnHub(client: Client, asked: { lists: number }): Promise<boolean> {
  for (const kind of [ManagedClusterAction, ManagedClusterView, ManifestWork]) {
    asked.lists += 1;
    const ours = `labelSelector=${encodeURIComponent(Label.work)}`;
    const answer = await client.request('GET', `/apis/${kind.apiVersion}/${kind.plural}?limit=1&${ours}`);
    if (z.looseObject({ items: z.array(z.unknown()) }).parse(answer).items.length > 0) return true;
  }
  return false;
}

/** The agent has written what it saw of the job. */
const isWord = ({ type, name }: { type: string; name: string }): boolean =>
  type === 'work-reported' || (type === 'view-reported' && name === PrecacheView.job);

const percentilesOf = (values: readonly number[]): Percentiles => ({
  p50: round(median(values)),
  p95: round(percentile(values, 0.95)),
  p99: round(percentile(values, 0.99)),
});

function figures(run: PrecacheRun, measured: Measured, report: z.output<typeof SpokeReport>): PrecacheFigures {
  const { start, end, watch, requests, hub } = measured;
  const isIn = ({ at }: { at: number }) => at >= start && at <= end;
  const spokes = Object.entries(report.spokes).map(([name, { events, jobsCreated }]) => {
    const at = (type: string) => events.find((event) => event.type === type && isIn(event))?.at ?? Number.NaN;
    const ended = at('job-succeeded');
    const told = events.find((event) => event.at >= ended && isIn(event) && isWord(event))?.at ?? Number.NaN;
    return { name, started: at('job-started'), ended, told, jobs: jobsCreated.filter(isIn).length };
  });
  const started = spokes.map((spoke) => (spoke.started - start) / 1000);
  const verdict = spokes.map(({ name, ended }) => ((watch.succeeded.get(name) ?? Number.NaN) - ended) / 1000);
  const jobs = spokes.map((spoke) => spoke.jobs);
  const bytes = [...watch.bytesBySecond.values()];
  const kib = (value: number) => round(value / 1024);
  return {
    spokes: run.spokes,
    upgrades: run.upgrades,
    store: run.redisUrl === undefined ? 'in-process' : 'redis',
    transport: run.transport ?? 'as the hub chooses',
    firstJobSeconds: round(Math.min(...started)),
    medianJobSeconds: round(median(started)),
    lastJobSeconds: round(Math.max(...started)),
    verdictSeconds: percentilesOf(verdict),
    toldSeconds: percentilesOf(spokes.map(({ ended, told }) => (told - ended) / 1000)),
    hubWritesPerSpoke: round(requests.hubWrites / run.spokes, 2),
    hubReadsPerSpoke: round((requests.hubReads - measured.ownLists) / run.spokes, 3),
    agentWritesPerSpoke: round(requests.agentWrites / run.spokes, 2),
    jobsPerSpoke: { least: Math.min(...jobs), most: Math.max(...jobs) },
    hubRssMiB: hub.rssMiB,
    hubPeakMiB: hub.peakMiB,
    cpuSeconds: measured.cpu,
    statusKiB: kib(watch.largest),
    statusKiBPerSecond: { mean: kib(bytes.reduce((sum, value) => sum + value, 0) / measured.totalSeconds), most: kib(Math.max(...bytes)) },
    statusVersions: watch.versions,
    totalSeconds: round(measured.totalSeconds),
    cleanSeconds: round((end - start) / 1000),
    requests: requests.detail,
  };
}
