import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TokenAnswer } from '@flotilla/api/answers';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { childEnvironment, registerStop } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { packConsolePage } from '../../tools/src/console-page/build.ts';
import { bundleApp } from '../../tools/src/images/app-bundle.ts';
import { hubCrds } from '../fixtures/crds.ts';
import { startBrowser } from '../system/console/browser.ts';
import { BusyHub, PROBES } from './busy-hub.ts';
import { countBytes, MeasuredPage } from './console-page.ts';
import { percentile, readProcess, round } from './statistics.ts';

/** What is measured. */
interface ConsoleRun {
  readonly spokes: number;
  readonly upgrades: number;
  readonly changes: number;
  readonly direct: number;
  readonly minutes: number;
  readonly long: boolean;
  readonly seed: number;
  /** For files of the run. */
  readonly folder: string;
  readonly say: (line: string) => void;
}

/** Rows in sight beside a fresh list. */
interface Compared {
  readonly compared: number;
  readonly different: number;
  /** Until they were equal. */
  readonly seconds: number;
}

/** What was measured. */
export interface ConsoleFigures {
  readonly firstRowsSeconds: number;
  readonly pixelMs: Readonly<Record<'sent' | 'acknowledged', { readonly p50: number; readonly p99: number }>>;
  readonly probes: number;
  readonly unseen: number;
  readonly snapshotBytes: number;
  readonly bytesPerSecond: number;
  readonly longTasks: number;
  readonly longestTaskMs: number;
  readonly heapMiB: { readonly start: number; readonly end: number };
  readonly server: { readonly rssMiB: number; readonly peakMiB: number; readonly cores: number };
  readonly changesPerSecond: number;
  readonly failedWrites: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly truth: Readonly<Record<string, Compared>>;
}

const ROOT = join(import.meta.dirname, '../..');
const USER = 'viewer';
/** Rows are compared so often in a run without breaks. */
const LOOKS = 6;
const PLACES = 4;
/** After the first rows the page has still to lay itself out. */
const SETTLED_MS = 5_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs it once. */
export async function runConsoleBench(run: ConsoleRun): Promise<ConsoleFigures> {
  await using stack = new AsyncDisposableStack();
  const auditLogPath = join(run.folder, 'audit.log');
  const auditPolicy = { rules: [{ level: 'Metadata', users: [USER] }, { level: 'None' }], omitStages: ['RequestReceived'] };
  const server = stack.use(
    await startApiServer({ own: true, crds: hubCrds(), users: [{ name: USER, groups: ['system:masters'] }], auditLogPath, auditPolicy }),
  );
  const client = await server.client();
  const hub = new BusyHub(client, run.spokes, run.upgrades, { changes: run.changes, direct: run.direct });
  await hub.furnish();
  run.say(`the hub is furnished, ${Math.round(performance.now() / 1000)} s after the start`);
  const browser = await startBrowser();
  if (!browser) throw new Error('no browser: npm run setup installs one, as root');
  stack.defer(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const measured = await MeasuredPage.open(await context.newPage());
  const program = await bundleCli(run.folder);

  const begun = Date.now();
  const running = stack.use(await startConsole(program, await server.kubeconfigFor(USER)));
  await measured.page.goto(running.address);
  await measured.page.locator('[role=grid] [role=gridcell]').first().waitFor();
  const { first } = await measured.notes();
  run.say(`first rows after ${(first - begun) / 1000} s, server ${JSON.stringify(readProcess(running.pid))}`);
  await sleep(SETTLED_MS);
  // Awaited here: everything ends with this block.
  return await measure(run, { server, client, hub, measured, running, auditLogPath, begun, first });
}

/** Everything that runs. */
interface Scene {
  readonly server: ApiServer;
  readonly client: Client;
  readonly hub: BusyHub;
  readonly measured: MeasuredPage;
  readonly running: RunningCli;
  readonly auditLogPath: string;
  readonly begun: number;
  readonly first: number;
}

async function measure(run: ConsoleRun, scene: Scene): Promise<ConsoleFigures> {
  const { client, hub, measured, running, begun, first } = scene;
  const heapAtStart = await measured.heapMiB();
  const wire = countBytes(running.base, { authorization: `Bearer ${running.token}` });
  await sleep(2_000);
  const snapshotBytes = wire.bytes();
  using ending = new DisposableStack();
  const stopping = new AbortController();
  ending.defer(() => stopping.abort());
  hub.start(stopping.signal);
  measured.probe(client, hub.names, stopping.signal);
  hub.go();
  const [cpu, from] = [readProcess(running.pid).cpuSeconds, performance.now()];
  let rssMiB = 0;
  const watching = setInterval(() => {
    rssMiB = Math.max(rssMiB, readProcess(running.pid).rssMiB);
  }, 1_000);
  ending.defer(() => clearInterval(watching));
  const random = randomOf(run.seed);
  const truth: Record<string, Compared> = {};
  let [held, compared, different] = [0, 0, 0];
  for (let look = 0; look < LOOKS; look += 1) {
    await sleep((run.minutes * 60_000) / LOOKS);
    const at = performance.now();
    await hub.hold();
    await sleep(1_000);
    const seen = await compareOnce(scene, random);
    compared += seen.compared;
    different += seen.different;
    hub.go();
    held += performance.now() - at;
  }
  run.say(`under load: server ${JSON.stringify(readProcess(running.pid))}, ${compared} rows compared, ${different} different`);
  truth['under load'] = { compared, different, seconds: 1 };
  const seconds = (performance.now() - from) / 1000;
  const bytesPerSecond = (wire.bytes() - snapshotBytes) / (seconds - held / 1000);
  wire.end();
  const { cpuSeconds, peakMiB } = readProcess(running.pid);
  const delays = await measured.delays();
  const { long } = await measured.notes();
  const late = long.filter(({ at }) => at > first + SETTLED_MS).map(({ ms }) => ms);
  await measured.rowsAt(0);
  const heapAtEnd = await measured.heapMiB();
  const { written, failed } = hub.counts;
  Object.assign(truth, await afterBreaks(run, scene, random));
  return {
    firstRowsSeconds: (first - begun) / 1000,
    pixelMs: { sent: percentiles(delays.sent), acknowledged: percentiles(delays.acknowledged) },
    probes: delays.sent.length,
    unseen: delays.unseen,
    snapshotBytes,
    bytesPerSecond: Math.round(bytesPerSecond),
    longTasks: late.length,
    longestTaskMs: Math.max(0, ...late),
    heapMiB: { start: heapAtStart, end: heapAtEnd },
    server: { rssMiB, peakMiB, cores: round((cpuSeconds - cpu) / seconds, 3) },
    changesPerSecond: Math.round(written / (seconds - held / 1000)),
    failedWrites: failed,
    requests: await requestsOf(scene.auditLogPath),
    truth,
  };
}

const percentiles = (values: readonly number[]) => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99) });

/** Breaks the ways between page, console and API server, and waits until rows are right again. */
async function afterBreaks(run: ConsoleRun, scene: Scene, random: () => number): Promise<Record<string, Compared>> {
  const { server, measured, running } = scene;
  const ms = run.long ? 60_000 : 5_000;
  const breaks: Readonly<Record<string, () => Promise<unknown>>> = {
    'API server restarted': () => server.restart(),
    'watch expired': () => server.restart({ forgets: true }),
    'stream cut': async () => {
      scene.hub.go();
      await measured.page.context().setOffline(true);
      await sleep(ms);
      await measured.page.context().setOffline(false);
    },
    'console asleep': async () => {
      scene.hub.go();
      process.kill(running.pid, 'SIGSTOP');
      await sleep(ms);
      process.kill(running.pid, 'SIGCONT');
    },
  };
  const truth: Record<string, Compared> = {};
  for (const [name, happen] of Object.entries(breaks)) {
    await scene.hub.hold();
    await happen();
    scene.hub.go();
    await sleep(1_000);
    await scene.hub.hold();
    truth[name] = await untilEqual(scene, random);
    run.say(`${name}: ${JSON.stringify(truth[name])}`);
  }
  return truth;
}

async function untilEqual(scene: Scene, random: () => number): Promise<Compared> {
  const from = performance.now();
  for (;;) {
    const seen = await compareOnce(scene, random);
    const seconds = round((performance.now() - from) / 1000);
    if (seen.different === 0 || seconds > 60) return { ...seen, seconds };
    await sleep(200);
  }
}

async function compareOnce({ client, hub, measured }: Scene, random: () => number): Promise<Omit<Compared, 'seconds'>> {
  const { items: clusters } = await client.list(ManagedCluster);
  const { items: upgrades } = await client.list(ClusterGroupUpgrade);
  const versions = new Map(clusters.map(({ metadata }) => [metadata.name, metadata.labels?.openshiftVersion]));
  const states = new Map(upgrades.flatMap(({ status }) => Object.entries(status?.precaching?.status ?? {})));
  const probed = new Set(hub.names.slice(0, PROBES));
  let [compared, different] = [0, 0];
  for (let place = 0; place < PLACES; place += 1)
    for (const { name, version, cached } of await measured.rowsAt(random())) {
      // The probes go on.
      if (probed.has(name)) continue;
      compared += 1;
      if (version !== (versions.get(name) ?? 'v1.34.2') || cached !== (states.get(name) ?? '–')) different += 1;
    }
  await measured.rowsAt(0);
  if (compared === 0) throw new Error('no row of the page could be read');
  return { compared, different };
}

/** Numbers from 0 to 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const AuditLine = z.looseObject({ verb: z.string(), objectRef: z.looseObject({ resource: z.string() }).optional() });

async function requestsOf(path: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const line of (await readFile(path, 'utf8')).split('\n').filter((one) => one !== '')) {
    const { verb, objectRef } = AuditLine.parse(JSON.parse(line));
    const key = `${verb} ${objectRef?.resource ?? 'other'}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** The command line as a release has it: one file with the page in it. */
async function bundleCli(folder: string): Promise<string> {
  const { constants } = await packConsolePage();
  const { files } = await bundleApp(ROOT, { entry: 'apps/cli/src/main.ts', isOneFile: true, constants });
  const [main] = files;
  if (!main || typeof main.content !== 'object' || !('bytes' in main.content)) throw new TypeError('not one file');
  const program = join(folder, 'flotilla.cjs');
  await writeFile(program, main.content.bytes);
  return program;
}

/** `flotilla console` as a process. */
interface RunningCli extends AsyncDisposable {
  readonly pid: number;
  readonly address: string;
  readonly base: string;
  readonly token: string;
}

/** The address that was printed last. */
const printed = (said: string): string | undefined => [...said.matchAll(/http:\/\/\S+(?=\n)/g)].at(-1)?.[0];

async function startConsole(program: string, kubeconfig: string): Promise<RunningCli> {
  const args = [program, 'console', '--hub-namespace', 'default'];
  const env = childEnvironment({ KUBECONFIG: kubeconfig });
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = registerStop(() => end(child));
  let said = '';
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const first = printed(said);
      if (first !== undefined) resolve(first);
    });
    child.once('exit', (code) => reject(new Error(`the console ended with ${code}`)));
  });
  const [base = '', code = ''] = address.split('/#code=');
  const body = JSON.stringify({ code });
  const exchanged = await fetch(`${base}/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { token } = TokenAnswer.parse(await exchanged.json());
  // The first code is used: a page needs another one.
  await fetch(`${base}/login`);
  for (let tries = 0; printed(said) === address && tries < 100; tries += 1) await sleep(20);
  return { pid: child.pid ?? 0, address: printed(said) ?? address, base, token, [Symbol.asyncDispose]: () => stop() };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGCONT');
  child.kill('SIGINT');
  await ended;
}
