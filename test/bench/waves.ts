/** Batches filled with clusters that are ready, beside batches of the list, in a fleet of which a part is slow. See `--help`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { registerStop } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { type Client, WatchCache } from '@flotilla/runtime';
import { z } from 'zod';
import { appImages } from '../../tools/src/images/apps.ts';
import { applyCrds } from '../fixtures/crds.ts';
import { createTemplate } from '../fixtures/work-templates.ts';
import { bundleProgram, startHub, startSpokes } from '../support/programs.ts';
import { print, runBench, whole } from './bench-program.ts';
import { countRequests, recordRequestsOf, totalOf } from './hub-requests.ts';
import { RolloutWatch, timesOf } from './rollout-watch.ts';
import { cpuOf, percentile, readProcess, round, untilQuiet } from './statistics.ts';

const USAGE = `bench:waves -- [--spokes 500] [--slow-of 5] [--slow-times 10] [--job-seconds 20] [--batch 50] [--work-seconds 5]
  [--patience 30s] [--runs 1] [--seed 1] [--json FILE]
One in --slow-of spokes takes --slow-times as long for its pull, and they stand evenly in the list. Each run is first by the list, then by waves.`;
const HOW = `How it is taken: for each way a real etcd and kube-apiserver, the hub bundled as in its image, and simulated spokes in two processes,
all on this machine. A spoke is cached when the status of the upgrade says so, done when the status of its ManifestWork says so; both are
told by watches of this bench. Requests are those of the hub's own user in the API server's audit log; CPU and memory by /proc.`;

const Arguments = z.object({
  spokes: whole(500),
  'slow-of': whole(5),
  'slow-times': whole(10),
  'job-seconds': whole(20),
  batch: whole(50),
  'work-seconds': whole(5),
  patience: z.string().default('30s'),
  runs: whole(1),
  seed: whole(1),
  json: z.string().optional(),
});
type Fleet = z.output<typeof Arguments>;

const HUB = 'hub';
const TEMPLATE = 'bench-1';
const REF = { namespace: 'default', name: 'bench' };
const PATIENCE_MS = 3_600_000;

/** Seconds since the upgrade was created, but for the last three. */
interface Figures {
  readonly way: 'list' | 'waves';
  readonly doneTenth: number;
  readonly doneHalf: number;
  readonly doneReady: number;
  readonly firstSlowCached: number;
  readonly doneAll: number;
  readonly batches: number;
  readonly requestsPerSpoke: number;
  readonly hubCpuSeconds: number;
  readonly hubPeakMiB: number;
}

/** Names in the order of the list: `slow` are those that take long. */
function namesOf({ spokes, 'slow-of': slowOf }: Fleet): { readonly all: string[]; readonly slow: string[] } {
  const all = Array.from({ length: spokes }, (_, at) => {
    const before = Math.floor(at / slowOf);
    return at % slowOf === slowOf - 1 ? `slow-${before + 1}` : `fast-${at - before + 1}`;
  });
  return { all, slow: all.filter((name) => name.startsWith('slow-')) };
}

const upgradeOf = (fleet: Fleet, way: Figures['way']) => ({
  metadata: {
    ...REF,
    ...(way === 'waves' && { annotations: { [Annotation.waves]: 'ready', [Annotation.wavePatience]: fleet.patience } }),
  },
  spec: {
    clusters: namesOf(fleet).all,
    preCaching: true,
    preCachingConfigRef: { name: REF.name },
    manifestWorkTemplates: [TEMPLATE],
    enable: true,
    remediationStrategy: { maxConcurrency: fleet.batch, timeout: 240 },
  },
});

/** One way on fresh servers. Throws when the upgrade does not succeed within an hour. */
async function play(fleet: Fleet, way: Figures['way']): Promise<Figures> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-bench-'));
  const stop = registerStop(() => rm(dir, { recursive: true, force: true }));
  const auditLog = join(dir, 'audit.log');
  try {
    await using server = await startApiServer(recordRequestsOf(HUB, auditLog));
    const client = await server.client();
    await applyCrds(client);
    const { all, slow } = namesOf(fleet);
    const pace = ['--work-seconds', String(fleet['work-seconds']), '--work-jitter', '0.2', '--seed', String(fleet.seed)];
    const jobs = (seconds: number) => ['--job-seconds', String(seconds), ...pace];
    const fast = [...jobs(fleet['job-seconds']), '--prefix', 'fast-'];
    await using _fast = await startSpokes(server.kubeconfig, dir, all.length - slow.length, fast);
    const late = [...jobs(fleet['job-seconds'] * fleet['slow-times']), '--prefix', 'slow-'];
    await using _slow = await startSpokes(server.kubeconfig, dir, slow.length, late);
    const config = { overrides: { platformImage: `registry.example/release@sha256:${'a'.repeat(64)}` } };
    await client.create(PreCachingConfig, { metadata: REF, spec: config });
    await createTemplate(client, TEMPLATE);
    const program = await bundleProgram(appImages.hub, dir);
    const image = ['--precache-image', 'registry.example/image-puller:bench'];
    await using hub = await startHub(await server.kubeconfigFor(HUB), dir, image, {}, program);
    await eventually(async () => (await hub.output()).includes('Caches are filled'), 'the hub to lead', 60_000);
    await untilQuiet([hub.pid, server.apiServerPid]);
    return await measure(fleet, way, { client, hubPid: hub.pid, auditLog });
  } finally {
    await stop();
  }
}

async function measure(
  fleet: Fleet,
  way: Figures['way'],
  { client, hubPid, auditLog }: { readonly client: Client; readonly hubPid: number; readonly auditLog: string },
): Promise<Figures> {
  const { all, slow } = namesOf(fleet);
  const ready = all.filter((name) => !slow.includes(name));
  const cached = new Map<string, number>();
  const end = new AbortController();
  const upgrades = new WatchCache(client, ClusterGroupUpgrade, { namespace: 'default' });
  upgrades.subscribe(({ type, object }) => {
    for (const [name, state] of type === 'set' ? Object.entries(object.status?.precaching?.status ?? {}) : [])
      if (state === 'Succeeded' && !cached.has(name)) cached.set(name, Date.now());
  });
  upgrades.start(end.signal);
  const watch = new RolloutWatch(client, { mode: 'manifestwork', names: [TEMPLATE] });
  try {
    const cpuBefore = cpuOf({ hub: hubPid });
    const start = Date.now();
    await client.create(ClusterGroupUpgrade, upgradeOf(fleet, way));
    const verdict = await eventually(() => watch.succeeded, 'the verdict', PATIENCE_MS);
    if (!verdict.startsWith('True ')) throw new Error(`the upgrade ended with Succeeded=${verdict}`);
    await eventually(() => watch.completedMs, 'completedAt', PATIENCE_MS);
    const hubCpuSeconds = round((cpuOf({ hub: hubPid }).hub ?? 0) - (cpuBefore.hub ?? 0));
    const seconds = (at: number) => round((at - start) / 1000);
    const done = timesOf(all, watch.done, 'done');
    const { status } = upgrades.get(REF) ?? {};
    const { counts } = await countRequests(auditLog, HUB, start);
    return {
      way,
      doneTenth: seconds(percentile(done, 0.1)),
      doneHalf: seconds(percentile(done, 0.5)),
      doneReady: seconds(Math.max(...timesOf(ready, watch.done, 'done'))),
      firstSlowCached: seconds(Math.min(...timesOf(slow, cached, 'cached'))),
      doneAll: seconds(Math.max(...done)),
      batches: status?.remediationPlan?.length ?? 0,
      requestsPerSpoke: round(totalOf(counts) / fleet.spokes, 2),
      hubCpuSeconds,
      hubPeakMiB: readProcess(hubPid).peakMiB,
    };
  } finally {
    watch.stop();
    end.abort();
    await client.close();
  }
}

const TITLES: Readonly<Record<Exclude<keyof Figures, 'way'>, string>> = {
  doneTenth: 'a tenth of the spokes is done after, s',
  doneHalf: 'half of them, s',
  doneReady: 'all that are not slow, s',
  firstSlowCached: 'the first slow one is cached after, s',
  doneAll: 'all are done, s',
  batches: 'batches',
  requestsPerSpoke: 'requests of the hub per spoke',
  hubCpuSeconds: 'CPU of the hub, s',
  hubPeakMiB: 'memory of the hub at its highest, MiB',
};

/** Prints both ways side by side, medians of several runs; true when by waves nobody that is ready has waited for a slow one. */
function report(fleet: Fleet, all: readonly Figures[]): boolean {
  const of = (way: Figures['way'], key: Exclude<keyof Figures, 'way'>) =>
    percentile(
      all.filter((each) => each.way === way).map((each) => each[key]),
      0.5,
    );
  print(
    `\n${fleet.spokes} spokes, one in ${fleet['slow-of']} ${fleet['slow-times']} times as slow, batches of ${fleet.batch}, ${fleet.runs} runs`,
  );
  print(`  ${''.padEnd(44)} ${'list'.padStart(8)} ${'waves'.padStart(8)}`);
  for (const [key, title] of Object.entries(TITLES) as [Exclude<keyof Figures, 'way'>, string][])
    print(`  ${title.padEnd(44)} ${String(of('list', key)).padStart(8)} ${String(of('waves', key)).padStart(8)}`);
  const isMet = all.every(({ way, doneReady, firstSlowCached }) => way === 'list' || doneReady < firstSlowCached);
  print(`\n${isMet ? 'met' : 'MISSED'}: by waves all that are ready are done before the first slow one is cached`);
  return isMet;
}

async function main(args: z.output<typeof Arguments>): Promise<void> {
  const all: Figures[] = [];
  for (let run = 0; run < args.runs; run += 1) for (const way of ['list', 'waves'] as const) all.push(await play(args, way));
  if (!report(args, all)) process.exitCode = 1;
  if (args.json) await writeFile(args.json, `${JSON.stringify(all, undefined, 2)}\n`);
}

await runBench({ usage: USAGE, how: HOW, options: Arguments }, main);
