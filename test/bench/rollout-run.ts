import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { registerStop } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { appImages } from '../../tools/src/images/apps.ts';
import { applyCrds } from '../fixtures/crds.ts';
import { placePolicy } from '../fixtures/placed-policies.ts';
import { createTemplate } from '../fixtures/work-templates.ts';
import { bundleProgram, type RunningProgram, startHub, startPropagator, startSpokes } from '../support/programs.ts';
import { countRequests, recordRequestsOf, type UserRequests } from './hub-requests.ts';
import { type HandOver, RolloutWatch, type Steps, timesOf } from './rollout-watch.ts';
import { cpuOf, readProcess, round, untilQuiet } from './statistics.ts';

/** One rollout to measure. */
export interface RolloutRun {
  readonly spokes: number;
  /** Spokes at the same time. */
  readonly batch: number;
  readonly mode: Steps['mode'];
  /** Policies or templates that every spoke goes through. */
  readonly steps: number;
  /** How long a spoke takes for one of them, plus or minus a fifth. */
  readonly stepSeconds: number;
  /** Absent: the hub's own memory. */
  readonly redisUrl: string | undefined;
  readonly seed: number;
  readonly cpuProfile: string | undefined;
}

/** What was measured. */
export interface RolloutFigures {
  readonly run: RolloutRun;
  readonly handOvers: readonly HandOver[];
  readonly requests: UserRequests;
  readonly statusBytes: number;
  readonly statusVersions: number;
  readonly hubPeakMiB: number;
  readonly cpuSeconds: Readonly<Record<string, number>>;
  /** From the creation of the upgrade to its start, its verdict, and nothing of it being left on the hub. */
  readonly startSeconds: number;
  readonly verdictSeconds: number;
  readonly cleanSeconds: number;
  /** Of these, seconds in which some spoke was released and not done. */
  readonly spokeSeconds: number;
}

const HUB = 'hub';
/**
 * How long the stand-in gathers the answers of spokes before it writes the roll-up of a policy: with 2,000 spokes each such write costs
 * the API server a quarter of a second of CPU, and five a second of two policies leave it no time for the hub.
 */
const ROLL_UP_MS = 1000;
const AT_LEAST_MS = 300_000;
/** Of what the spokes alone would take. */
const PATIENCE = 5;

/** One whole rollout on fresh servers. Throws when it does not succeed in five times the time that the spokes need, and five minutes. */
export async function runRollout(run: RolloutRun): Promise<RolloutFigures> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-bench-'));
  const stop = registerStop(() => rm(dir, { recursive: true, force: true }));
  const auditLog = join(dir, 'audit.log');
  try {
    await using server = await startApiServer(recordRequestsOf(HUB, auditLog));
    const client = await server.client();
    await applyCrds(client);
    const work = ['--work-seconds', String(run.stepSeconds), '--work-jitter', '0.2'];
    await using spokes = await startSpokes(server.kubeconfig, dir, run.spokes, ['--seed', String(run.seed), ...work]);
    await using propagator = await startCompliance(server.kubeconfig, dir, run);
    const steps = await createSteps(client, run);
    await using hub = await startHub(
      await server.kubeconfigFor(HUB),
      dir,
      run.redisUrl === undefined ? [] : ['--redis-url', run.redisUrl],
      run.cpuProfile ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${run.cpuProfile}` } : {},
      await bundleProgram(appImages.hub, dir),
    );
    await eventually(async () => (await hub.output()).includes('Caches are filled'), 'the hub to lead', 60_000);
    const pids = {
      hub: hub.pid,
      spokes: spokes.pid,
      ...(propagator && { propagator: propagator.pid }),
      apiServer: server.apiServerPid,
      etcd: server.etcdPid,
      bench: process.pid,
    };
    await untilQuiet([hub.pid, server.apiServerPid, ...(propagator ? [propagator.pid] : [])]);
    const watch = new RolloutWatch(client, steps);
    try {
      return await measure({ run, client, steps, watch, hubPid: hub.pid, pids, auditLog });
    } finally {
      watch.stop();
      await client.close();
    }
  } finally {
    await stop();
  }
}

interface Measured {
  readonly run: RolloutRun;
  readonly client: Client;
  readonly steps: Steps;
  readonly watch: RolloutWatch;
  readonly hubPid: number;
  readonly pids: Readonly<Record<string, number>>;
  readonly auditLog: string;
}

async function measure({ run, client, steps, watch, hubPid, pids, auditLog }: Measured): Promise<RolloutFigures> {
  const cpuBefore = cpuOf(pids);
  const start = Date.now();
  await client.create(ClusterGroupUpgrade, upgradeOf(run, steps));
  const batches = Math.ceil(run.spokes / run.batch);
  const timeoutMs = AT_LEAST_MS + PATIENCE * batches * run.steps * run.stepSeconds * 1000;
  const verdict = await eventually(() => watch.succeeded, `the verdict after ${run.spokes} spokes`, timeoutMs);
  const verdictMs = Date.now();
  if (!verdict.startsWith('True ')) throw new Error(`the upgrade ended with Succeeded=${verdict}`);
  await eventually(() => watch.completedMs, 'completedAt', AT_LEAST_MS);
  const cpuAfter = cpuOf(pids);
  const seconds = (at: number | undefined) => round(((at ?? Number.NaN) - start) / 1000);
  return {
    run,
    handOvers: watch.handOvers(),
    requests: await countRequests(auditLog, HUB, start),
    statusBytes: watch.statusBytes,
    statusVersions: watch.versions,
    hubPeakMiB: readProcess(hubPid).peakMiB,
    cpuSeconds: Object.fromEntries(Object.entries(cpuAfter).map(([name, after]) => [name, round(after - (cpuBefore[name] ?? 0))])),
    startSeconds: seconds(watch.startedMs),
    verdictSeconds: seconds(verdictMs),
    cleanSeconds: seconds(watch.completedMs),
    spokeSeconds: round(busySeconds(watch)),
  };
}

/** In policy mode somebody has to place policies and say who complies; works are the spokes' own. */
async function startCompliance(
  kubeconfig: string,
  dir: string,
  { mode, stepSeconds, seed }: RolloutRun,
): Promise<RunningProgram | undefined> {
  if (mode === 'manifestwork') return undefined;
  const pace = ['--roll-up-ms', String(ROLL_UP_MS)];
  return startPropagator(kubeconfig, dir, ['--seconds', String(stepSeconds), '--jitter', '0.2', '--seed', String(seed), ...pace]);
}

async function createSteps(client: Client, { mode, steps, spokes }: RolloutRun): Promise<Steps> {
  const names = Array.from({ length: steps }, (_, index) => `bench-${index + 1}`);
  if (mode === 'manifestwork') for (const name of names) await createTemplate(client, name);
  else {
    for (const name of names) await placePolicy(client, name, { clusters: spokeNames(spokes) });
    const reported = async (name: string) =>
      ((await client.get(Policy, { namespace: 'policies', name }))?.status?.status ?? []).filter(({ compliant }) => compliant).length;
    for (const name of names)
      await eventually(async () => (await reported(name)) === spokes, `policy ${name} to be rolled up`, AT_LEAST_MS);
  }
  return { mode, names };
}

const spokeNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `spoke-${index + 1}`);

const upgradeOf = ({ spokes, batch }: RolloutRun, { mode, names }: Steps) => ({
  metadata: { name: 'bench', namespace: 'default' },
  spec: {
    clusters: spokeNames(spokes),
    ...(mode === 'policy' ? { managedPolicies: names } : { manifestWorkTemplates: names }),
    remediationStrategy: { maxConcurrency: batch, timeout: 240 },
    actions: {
      beforeEnable: { addClusterLabels: { upgrading: '' } },
      afterCompletion: { addClusterLabels: { upgraded: '' }, removeClusterLabels: ['upgrading'] },
    },
  },
});

/** Seconds in which somebody was at work. */
function busySeconds({ plan, released, done }: RolloutWatch): number {
  const bounds = plan.map((clusters) => [
    Math.min(...timesOf(clusters, released, 'released')),
    Math.max(...timesOf(clusters, done, 'done')),
  ]);
  return bounds.reduce((sum, [from = 0, to = 0]) => sum + to - from, 0) / 1000;
}
