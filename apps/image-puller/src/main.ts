import { writeSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { Annotation, errorMessage, TerminalError } from '@flotilla/api';
import { PullerExit, type PullerReport } from '@flotilla/api/ran';
import { type Client, createLogger, type Logger, systemClock } from '@flotilla/runtime';
import { finishInCluster } from './after-run.ts';
import { type Config, readConfig } from './config.ts';
import { exitCodeOf, PullerErrorCode } from './errors.ts';
import { followLeads } from './follow-run.ts';
import { inspectNode } from './inspect/inspect.ts';
import { leadNodes } from './lead-run.ts';
import { capReader, followCap } from './link-cap.ts';
import { Progress } from './progress/progress.ts';
import { connectToCluster, jobSink, Reporter, type ReportSinks } from './progress/reporter.ts';
import type { Cached } from './proof/prove.ts';
import { openCriStore } from './pull/cri-store.ts';
import { type PullRun, pullOnce } from './pull-run.ts';
import { readImageCare } from './space/space.ts';

/** Milliseconds for writing the answer of an inspection. */
const ANSWER_MS = 20_000;
/** Kubernetes sends SIGKILL 30 s after SIGTERM, but users who stop the puller wait less. */
const STOP_MS = 4_500;

const write = (fd: number, text: string): void => {
  try {
    writeSync(fd, text);
  } catch {
    // a closed pipe must not end the pull
  }
};

async function main(): Promise<number> {
  const config = readConfig();
  // stdout carries only reports
  const logger = createLogger({ name: 'image-puller', level: config.logLevel, destination: { write: (line) => write(2, line) } }).child({
    node: config.nodeName,
  });
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => onSignal(name, stop, logger));

  if (config.mode === 'inspect') return inspect(config, { logger, signal: stop.signal });
  const cluster = connect(config, logger);
  const code = config.follows
    ? await follow(config, { cluster, logger, signal: stop.signal })
    : await pull(config, { cluster, logger, signal: stop.signal });
  await cluster?.close();
  return code;
}

/** Answers in the annotation of the Job and on stdout; an answer that is a refusal ends it with a code of its own. */
async function inspect(config: Config, deps: { logger: Logger; signal: AbortSignal }): Promise<number> {
  const cri = { ...config, ...deps, credentials: { auths: {} }, clock: systemClock, random: Math.random };
  const answer = await inspectNode({
    ...config,
    signal: deps.signal,
    gcThresholdPercent: async () => (await readImageCare(config, deps.logger)).gcThresholdPercent,
    openStore: () => openCriStore(cri),
  });
  const text = JSON.stringify(answer);
  write(1, `${text}\n`);
  const cluster = connect(config, deps.logger);
  if (cluster) await jobSink(cluster, config.namespace, Annotation.inventory)(text, AbortSignal.timeout(ANSWER_MS));
  await cluster?.close();
  return 'error' in answer ? PullerExit.internal : PullerExit.done;
}

interface ProgramDeps {
  readonly cluster: Client | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Fills this node, leads the others where there may be some, and then does what is the cluster's. */
async function pull(config: Config, { cluster, logger, signal }: ProgramDeps): Promise<number> {
  const clock = systemClock;
  const startedAt = clock.now();
  const progress = new Progress(() => clock.now(), config.nodeName);
  const cached: Cached[] = [];
  const read = capReader(config.specDir, cluster, config.namespace);
  const run = {
    progress,
    logger,
    signal,
    cap: await followCap({ bytesPerSecond: config.bytesPerSecond, read, clock, signal, logger }),
    onCached: (found: Cached) => void cached.push(found),
  };
  const pullRun = (each: PullRun) => pullOnce(config, each);
  const led = config.nodes && cluster && leadNodes(config, { ...run, rules: config.nodes, cluster, pull: pullRun });
  const report = (): PullerReport => (led ? led.sum(progress.report()) : progress.report());
  const reporter = new Reporter({ report, sinks: sinks(config, cluster), jobMs: config.progressMs, clock, logger });
  reporter.start();
  const own = led ? await led.run() : await pullRun(run);
  const filled = [{ name: config.nodeName }, ...(led?.filled() ?? [])];
  const code = await finishInCluster(config, own, { cluster, cached: cached.at(-1), filled, progress, signal, clock, logger, startedAt });
  await reporter.finish();
  return code;
}

/** Fills this node for the puller of the Job. */
async function follow(config: Config, { cluster, logger, signal }: ProgramDeps): Promise<number> {
  if (!cluster)
    throw new TerminalError(PullerErrorCode.configInvalid, 'FOLLOW is on, but there is no cluster to look for Job pre-cache in');
  const reporting = (progress: Progress): Reporter => {
    const report = () => progress.report();
    const reporter = new Reporter({ report, sinks: sinks(config, undefined), jobMs: config.progressMs, clock: systemClock, logger });
    reporter.start();
    return reporter;
  };
  return followLeads(config, { cluster, logger, signal, pull: (run) => pullOnce(config, run), reporting });
}

function onSignal(name: string, stop: AbortController, logger: Logger): void {
  logger.info({ signal: name }, 'Stopping');
  stop.abort(new Error(name));
  setTimeout(() => process.exit(PullerExit.interrupted), STOP_MS).unref();
}

/** Connects to the cluster for progress reports; without a cluster the pull runs all the same. */
function connect(config: Config, logger: Logger): Client | undefined {
  if (!config.progressOnJob && !config.follows && !config.nodes) return undefined;
  try {
    return connectToCluster(config.kubeconfigPath);
  } catch (error) {
    logger.warn({ err: errorMessage(error) }, 'No cluster to write progress to');
    return undefined;
  }
}

function sinks(config: Config, cluster: Client | undefined): ReportSinks {
  return {
    line: (text) => write(1, `${text}\n`),
    async terminationMessage(text) {
      // the kubelet created the file; other environments have none
      if (await stat(config.terminationLog).catch(() => undefined)) await writeFile(config.terminationLog, text);
    },
    job: cluster && config.progressOnJob ? jobSink(cluster, config.namespace) : undefined,
  };
}

try {
  process.exitCode = await main();
} catch (error) {
  write(2, `${JSON.stringify({ level: 'error', name: 'image-puller', msg: 'Starting failed', err: errorMessage(error) })}\n`);
  process.exitCode = exitCodeOf(error);
}
// kept-alive connections must not keep the pod alive
process.exit();
