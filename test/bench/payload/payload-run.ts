import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterVersion } from '@flotilla/api/config';
import { registerStop } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import { OperatorScript, startFakeOperators } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { type Client, WatchCache } from '@flotilla/runtime';
import { appImages } from '../../../tools/src/images/apps.ts';
import { nodeFlagsOf } from '../../../tools/src/images/node-flags.ts';
import { bundleProgram, type RunningProgram, startProgram } from '../../support/programs.ts';
import { countRequests, recordRequestsOf, totalOf } from '../hub-requests.ts';
import { readProcess, round } from '../statistics.ts';
import { bootstrap } from './bootstrap.ts';

/** One installation, one steady pass and one update to measure. */
interface PayloadRun {
  /** Folder with the payloads `real` and `next`, each with its operators.json. */
  readonly dir: string;
  /** Operators report the new version before the operator gets to them. */
  readonly eager: boolean;
  readonly cpuProfile: string | undefined;
  /** Keeps the operator's log and the audit log there. */
  readonly logFolder: string | undefined;
}

/** What one phase took. */
export interface PhaseFigures {
  readonly phase: 'install' | 'steady pass' | 'start' | 'update';
  readonly seconds: number;
  readonly requests: number;
  readonly byVerb: Readonly<Record<string, number>>;
  readonly writes: number;
  readonly refused: number;
  readonly cpuSeconds: number;
  readonly peakMiB: number;
  readonly apiServerCpuSeconds: number;
}

const USER = 'version-operator';
const repository = 'quay.io/openshift-release-dev/ocp-release';
/** Names of the payloads' release images. */
export const payloads = {
  real: { version: '4.22.0', image: `${repository}@sha256:88c260561bd3da2b81a5a266afba975aab43a5dc4e9312818d9c5935f7c8b906` },
  next: { version: '4.22.1', image: `${repository}@sha256:d6ee0cd64c3d746a261b1cde3df7ffeeb1a41785a496866e271dcd974f8a5c11` },
};
const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
/** Between two passes in the bench. */
const PASS_MINUTES = 0.25;

/** Installs, keeps and updates a release on a fresh API server, as the baseline was taken. */
export async function runPayload(run: PayloadRun): Promise<PhaseFigures[]> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-bench-'));
  const stop = registerStop(() => rm(dir, { recursive: true, force: true }));
  const auditLog = join(run.logFolder ?? dir, `audit-${process.pid}.log`);
  const stopping = new AbortController();
  try {
    await using server = await startApiServer(recordRequestsOf(USER, auditLog));
    await using client = closing(await server.client());
    const folders = [join(run.dir, 'real'), join(run.dir, 'next')];
    await bootstrap(client.client, { folders });
    const releases = await Promise.all(folders.map(readScript));
    await using operators = await startFakeOperators({ client: client.client, releases, delayMs: 500, eager: run.eager });
    const world = {
      client: client.client,
      dir,
      auditLog,
      run,
      program: await bundleProgram(appImages[USER], dir),
      versions: await watched(client.client, stopping.signal),
      kubeconfig: await server.kubeconfigFor(USER),
      apiServerPid: server.apiServerPid,
    };
    const figures = await measureAll(world);
    await operators.stop();
    return figures;
  } finally {
    stopping.abort();
    await stop();
  }
}

async function watched(client: Client, signal: AbortSignal): Promise<WatchCache<ClusterVersion>> {
  const versions = new WatchCache(client, ClusterVersion);
  versions.start(signal);
  await versions.synced();
  return versions;
}

const closing = (client: Client) => ({ client, [Symbol.asyncDispose]: () => client.close() });
const readScript = async (folder: string) => OperatorScript.parse(JSON.parse(await readFile(join(folder, 'operators.json'), 'utf8')));

interface World {
  readonly client: Client;
  readonly dir: string;
  readonly auditLog: string;
  readonly run: PayloadRun;
  /** Watched: whoever asks over and over takes part of the server. */
  readonly versions: WatchCache<ClusterVersion>;
  /** Bundle of the operator. */
  readonly program: string;
  readonly kubeconfig: string;
  readonly apiServerPid: number;
}

async function measureAll(world: World): Promise<PhaseFigures[]> {
  const installing = await phase(world, 'install', () => operator(world, 'real'), payloads.real.version);
  const steady = await steadyPass(world, installing.program);
  await installing.program.stop({ signal: 'SIGTERM' });
  const starting = await restart(world);
  await world.client.patch(ClusterVersion, { name: 'version' }, { spec: { desiredUpdate: payloads.next } }, { type: 'merge' });
  const updating = await phase(world, 'update', () => operator(world, 'next'), payloads.next.version);
  await updating.program.stop({ signal: 'SIGTERM' });
  return [installing.figures, steady, starting, updating.figures];
}

function operator({ dir, kubeconfig, run, program }: World, which: keyof typeof payloads, name: string = which): Promise<RunningProgram> {
  const { cpuProfile, logFolder } = run;
  return startProgram({
    name: `version-operator-${name}`,
    entry: program,
    args: [
      ...['--kubeconfig', kubeconfig, '--payload', join(run.dir, which), '--image', payloads[which].image],
      ...['--pass-minutes', String(PASS_MINUTES), '--log-level', 'debug'],
    ],
    dir: logFolder ?? dir,
    nodeFlags: [...nodeFlagsOf(USER), ...(cpuProfile ? ['--cpu-prof', `--cpu-prof-dir=${cpuProfile}`] : [])],
    isReady: () => true,
  });
}

async function phase(world: World, name: PhaseFigures['phase'], start: () => Promise<RunningProgram>, version: string) {
  const since = Date.now();
  const apiBefore = readProcess(world.apiServerPid).cpuSeconds;
  const program = await start();
  await eventually(
    () => {
      if (program.hasExited()) return true;
      const { status } = world.versions.get({ name: 'version' }) ?? {};
      const available = status?.conditions?.find(({ type }) => type === 'Available')?.status;
      return status?.history?.[0]?.state === 'Completed' && status.history[0].version === version && available === 'True';
    },
    `${name} of ${version}`,
    600_000,
  );
  if (program.hasExited()) throw new Error(`the operator ended: ${(await program.output()).slice(-2_000)}`);
  const seconds = (Date.now() - since) / 1000;
  return { program, figures: await figuresOf(world, { phase: name, since, seconds, pid: program.pid, cpuBefore: 0, apiBefore }) };
}

/** Starts the operator again on a cluster that is as it should be, until its first pass has ended. */
async function restart(world: World): Promise<PhaseFigures> {
  const [since, apiBefore] = [Date.now(), readProcess(world.apiServerPid).cpuSeconds];
  const program = await operator(world, 'real', 'again');
  await eventually(async () => program.hasExited() || (await program.output()).includes('Applied the release'), 'the first pass', 120_000);
  const seconds = (Date.now() - since) / 1000;
  const figures = await figuresOf(world, { phase: 'start', since, seconds, pid: program.pid, cpuBefore: 0, apiBefore });
  await program.stop({ signal: 'SIGTERM' });
  return figures;
}

/** Waits until a whole pass has gone by, with nothing else going on. */
async function steadyPass(world: World, program: RunningProgram): Promise<PhaseFigures> {
  const passes = async () => (await program.output()).split('Applied the release').length;
  // what the install left to mend is mended in the pass after it
  const after = await passes();
  await eventually(async () => (await passes()) > after, 'the pass after the install', 60_000);
  const [since, before, cpuBefore, apiBefore] = [
    Date.now(),
    await passes(),
    readProcess(program.pid).cpuSeconds,
    readProcess(world.apiServerPid).cpuSeconds,
  ];
  await eventually(async () => (await passes()) > before, 'a steady pass', 60_000);
  const [, ms] = [...(await program.output()).matchAll(/"ms":(\d+)[^\n]*"Applied the release"/g)].at(-1) ?? [];
  const seconds = Number(ms ?? Number.NaN) / 1000;
  return figuresOf(world, { phase: 'steady pass', since, seconds, pid: program.pid, cpuBefore, apiBefore });
}

interface Moment {
  readonly phase: PhaseFigures['phase'];
  readonly since: number;
  readonly seconds: number;
  readonly pid: number;
  readonly cpuBefore: number;
  readonly apiBefore: number;
}

async function figuresOf(
  { auditLog, apiServerPid }: World,
  { phase, since, seconds, pid, cpuBefore, apiBefore }: Moment,
): Promise<PhaseFigures> {
  const { cpuSeconds, peakMiB } = readProcess(pid);
  const apiCpu = readProcess(apiServerPid).cpuSeconds - apiBefore;
  // the audit log is written a moment after the answer
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const { counts, refused } = await countRequests(auditLog, USER, since);
  const byVerb: Record<string, number> = {};
  for (const [what, count] of counts) {
    const verb = what.split(' ', 1)[0] ?? '';
    byVerb[verb] = (byVerb[verb] ?? 0) + count;
  }
  const writes = Object.entries(byVerb).reduce((sum, [verb, count]) => sum + (WRITES.has(verb) ? count : 0), 0);
  return {
    phase,
    seconds: round(seconds),
    requests: totalOf(counts),
    byVerb,
    writes,
    refused: totalOf(refused),
    cpuSeconds: round(cpuSeconds - cpuBefore, 2),
    peakMiB,
    apiServerCpuSeconds: round(apiCpu),
  };
}
