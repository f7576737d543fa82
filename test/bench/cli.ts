/** What the command line takes on a large hub: time, memory, requests. See `--help`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { conditionTime } from '@flotilla/api';
import { ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type ClusterGroupUpgradeStatus, PreCachingConfig, packStatus } from '@flotilla/api/ran';
import { childEnvironment, cleanupOnExit } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { bundleCli } from '../../tools/src/release/cli-bundle.ts';
import { difference, readRequestCounts } from '../fixtures/api-metrics.ts';
import { hubCrds } from '../fixtures/crds.ts';
import { hostOf, REGISTRY_NAME, startPullerWorld } from '../system/image-puller-fixture.ts';
import { median, readProcess, round } from './statistics.ts';

const USAGE = `bench:cli -- [--spokes 5000] [--planned 500] [--images 190] [--runs 5] [--json FILE]
flotilla --help, status, why and plan on a hub with so many spokes, in the middle of a rollout.`;
const HOW = `How it is taken: a real etcd and kube-apiserver, a real registry; the upgrade's status is that of a rollout in batch 7 of 50, as a hub stores it. Each
command is a process of its own, from its start to its end, of the npm package that a release has; medians of the runs, and the longest. Memory is VmHWM by /proc, read every 10 ms. Requests are
those that the API server counted meanwhile. A cold plan has an empty cache of the registry, a warm one what the plan before it left.`;

/** Seconds and MiB that may be needed at 5,000 spokes. */
const MOST: Readonly<Record<string, { readonly seconds: number; readonly mebibytes: number }>> = {
  '--help': { seconds: 0.15, mebibytes: 150 },
  status: { seconds: 2, mebibytes: 150 },
  'why, all': { seconds: 2, mebibytes: 150 },
  'why, one': { seconds: 2, mebibytes: 150 },
  'plan, cold': { seconds: 20, mebibytes: 200 },
  'plan, warm': { seconds: 3, mebibytes: 200 },
};

const Arguments = z.object({
  spokes: z.coerce.number().int().min(100).max(10_000).default(5_000),
  planned: z.coerce.number().int().positive().default(500),
  images: z.coerce.number().int().positive().max(1_000).default(190),
  runs: z.coerce.number().int().positive().default(5),
  json: z.string().optional(),
});
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { spokes: text, planned: text, images: text, runs: text, json: text, help: { type: 'boolean' } } });

const spec = (clusters: readonly string[], more: object = {}) => ({
  clusters,
  manifestWorkTemplates: ['template'],
  remediationStrategy: { maxConcurrency: Math.ceil(clusters.length / 50), timeout: 240 },
  ...more,
});

/** The status of a rollout in batch 7 of 50, one cluster of a hundred failed. */
function statusOf(clusters: readonly string[]): ClusterGroupUpgradeStatus {
  const size = Math.ceil(clusters.length / 50);
  const remediationPlan = Array.from({ length: Math.ceil(clusters.length / size) }, (_, index) =>
    clusters.slice(index * size, (index + 1) * size),
  );
  const at = conditionTime(Date.now() - 600_000);
  const done = remediationPlan.slice(0, 6).flat();
  const condition = (type: string, status: 'True' | 'False', reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: at,
  });
  return {
    conditions: [
      condition('ClustersSelected', 'True', 'ClusterSelectionCompleted', 'All selected clusters are valid'),
      condition('Validated', 'True', 'ValidationCompleted', 'Completed validation'),
      condition('Progressing', 'True', 'InProgress', 'Rolling out manifestworks'),
    ],
    computedMaxConcurrency: size,
    remediationPlan,
    manifestWorkTemplates: ['template'],
    clusters: done.map((name, index) => ({ name, state: index % 100 === 99 ? 'timedout' : 'complete' })),
    status: {
      startedAt: at,
      currentBatch: 7,
      currentBatchStartedAt: at,
      currentBatchRemediationProgress: Object.fromEntries(
        (remediationPlan[6] ?? []).map((name) => [name, { state: 'InProgress', manifestWorkIndex: 0 }]),
      ),
    },
  };
}

async function furnish(client: Client, names: readonly string[], planned: number, release: { release: string }): Promise<void> {
  await registerSpokes(client, names);
  await client.create(ManifestWorkReplicaSet, {
    metadata: { name: 'template', namespace: 'default' },
    spec: {
      manifestWorkTemplate: {
        workload: { manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'default' } }] },
      },
      placementRefs: [{ name: 'all' }],
    },
  });
  const metadata = { name: 'large', namespace: 'default' };
  await client.create(ClusterGroupUpgrade, { metadata, spec: spec(names) });
  const status = packStatus(statusOf(names), 500 * 1024);
  await client.patch(ClusterGroupUpgrade, metadata, { status }, { type: 'merge', subresource: 'status' });
  await client.create(PreCachingConfig, {
    metadata: { name: 'config', namespace: 'default' },
    spec: { overrides: { platformImage: release.release } },
  });
  const preCaching = { preCaching: true, preCachingConfigRef: { name: 'config' }, enable: false };
  await client.create(ClusterGroupUpgrade, {
    metadata: { name: 'planned', namespace: 'default' },
    spec: spec(names.slice(0, planned), preCaching),
  });
}

interface Figures {
  readonly seconds: readonly number[];
  readonly peakMiB: number;
  readonly requests: Readonly<Record<string, number>>;
}

interface Measured {
  readonly server: ApiServer;
  /** The command line. */
  readonly program: string;
  readonly runs: number;
  readonly cacheOf: (run: number) => string;
}

async function measure(args: readonly string[], { server, program, runs, cacheOf }: Measured): Promise<Figures> {
  const client = await server.client();
  const seconds: number[] = [];
  let peakMiB = 0;
  const before = await readRequestCounts(client);
  for (let run = 0; run < runs; run += 1) {
    const since = performance.now();
    const child = spawn(process.execPath, [program, ...args], {
      env: childEnvironment({ KUBECONFIG: server.kubeconfig, XDG_CACHE_HOME: cacheOf(run) }),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const look = setInterval(() => {
      try {
        peakMiB = Math.max(peakMiB, readProcess(child.pid ?? 0).peakMiB);
      } catch {
        // It has ended.
      }
    }, 10);
    const [code] = await once(child, 'close');
    clearInterval(look);
    if (code === 1 || code === 2) throw new Error(`flotilla ${args.join(' ')} ended with ${code}`);
    seconds.push((performance.now() - since) / 1000);
  }
  const counted = difference(before, await readRequestCounts(client));
  const requests = Object.fromEntries([...counted].flatMap(([key, n]) => (n >= runs ? [[key, round(n / runs)]] : [])));
  return { seconds, peakMiB, requests };
}

async function main({ spokes, planned, images, runs, json }: z.output<typeof Arguments>): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(
    await startPullerWorld(
      'bench-cli',
      Array.from({ length: images }, () => 20_000),
    ),
  );
  const conf = join(world.folder.path, 'registries.conf');
  await writeFile(conf, `[[registry]]\nprefix = "${REGISTRY_NAME}"\nlocation = "${hostOf(world.registry.url)}"\ninsecure = true\n`);
  const server = stack.use(await startApiServer({ crds: hubCrds() }));
  const names = Array.from({ length: spokes }, (_, index) => `site-${String(index + 1).padStart(5, '0')}`);
  await furnish(await server.client(), names, planned, world.release);
  const program = join(world.folder.path, 'main.mjs');
  for (const [file, bytes] of (await bundleCli(join(import.meta.dirname, '../..'))).files)
    await writeFile(join(world.folder.path, file), bytes);
  const last = names.at(-1) ?? '';
  const lines: Readonly<Record<string, readonly string[]>> = {
    '--help': ['--help'],
    status: ['status', 'large'],
    'why, all': ['why', 'large'],
    'why, one': ['why', 'large', last],
    'plan, cold': ['plan', 'planned', '--registries-conf', conf],
    'plan, warm': ['plan', 'planned', '--registries-conf', conf],
  };
  process.stdout.write(`${spokes} spokes, a plan of ${planned} with ${images} images, ${runs} runs each\n`);
  const all: Record<string, Figures> = {};
  for (const [name, args] of Object.entries(lines)) {
    // The last cold plan leaves what the warm ones find.
    const cacheOf = (run: number) => join(world.folder.path, `cache-${name === 'plan, warm' ? runs - 1 : run}`);
    const figures = await measure(args, { server, program, runs, cacheOf });
    all[name] = figures;
    const { seconds, peakMiB, requests } = figures;
    const most = MOST[name];
    const isWell = most !== undefined && median(seconds) <= most.seconds && peakMiB <= most.mebibytes;
    process.stdout.write(
      `${name.padEnd(11)} ${round(median(seconds), 2)} s, at most ${round(Math.max(...seconds), 2)} s, ${peakMiB} MiB (wanted ${most?.seconds} s, ${most?.mebibytes} MiB: ${isWell ? 'met' : 'MISSED'})  requests ${JSON.stringify(requests)}\n`,
    );
  }
  process.stdout.write(`\n${HOW}\n`);
  if (json) await writeFile(json, JSON.stringify(all, null, 2));
}

if (values.help) process.stdout.write(`${USAGE}\n\n${HOW}\n`);
else {
  cleanupOnExit();
  await main(Arguments.parse(values));
}
