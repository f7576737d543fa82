import { writeSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { Annotation, errorMessage } from '@flotilla/api';
import { PullerExit } from '@flotilla/api/ran';
import type { RegistryClient } from '@flotilla/registry';
import { type Client, createLogger, type Logger, systemClock } from '@flotilla/runtime';
import { createRegistrySource } from '@flotilla/software';
import { type Config, readConfig } from './config.ts';
import { inspectNode } from './inspect/inspect.ts';
import { connectToCluster, jobSink } from './progress/job-annotation.ts';
import { Progress } from './progress/progress.ts';
import { Reporter, type ReportSinks } from './progress/reporter.ts';
import { openCriStore } from './pull/cri-store.ts';
import { openLayoutStore } from './pull/layout-store.ts';
import { openRegistryClient, readPullSecret } from './registry-client.ts';
import { runPuller } from './run.ts';
import { readImageCare } from './space/image-care.ts';
import { readPullSpec } from './spec-files.ts';
import { exitCodeOf } from './verdict.ts';

/** Milliseconds for which the list waits for a registry that does not answer. */
const LIST_RETRY_MS = 120_000;
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
  const progress = new Progress(() => systemClock.now(), config.nodeName);
  const cluster = connect(config, logger);
  const reporter = new Reporter({
    report: () => progress.report(),
    sinks: sinks(config, cluster),
    jobMs: config.progressMs,
    clock: systemClock,
    logger,
  });
  reporter.start();
  const code = await run(config, { progress, logger, signal: stop.signal });
  await reporter.finish();
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

async function run(config: Config, deps: { progress: Progress; logger: Logger; signal: AbortSignal }): Promise<number> {
  const retry = { refusedTries: 1, retryForMs: Math.min(config.retryForMs, LIST_RETRY_MS), clock: systemClock, random: Math.random };
  // opened on first use, so that a bad secret or CA has its exit code and report
  const registry = lazy(async () => {
    const credentials = await readPullSecret(config.pullSecretPath);
    return { credentials, client: await openRegistryClient(config, credentials) };
  });
  const code = await runPuller({
    ...deps,
    config: { ...config, imageCare: await readImageCare(config, deps.logger) },
    readSpec: () => readPullSpec(config.specDir),
    openSource: async (content) => createRegistrySource((await registry()).client, retry, { content }),
    openStore: async () => {
      const common = { ...config, ...deps, clock: systemClock, random: Math.random };
      if (config.mode !== 'pull') return openCriStore({ ...common, credentials: { auths: {} } });
      const { client, credentials } = await registry();
      return config.store === 'layout'
        ? openLayoutStore(config.layoutDir, client)
        : openCriStore({ ...common, credentials, fetching: fetchingBy(client, config) });
    },
    clock: systemClock,
    random: Math.random,
  });
  return code;
}

/** Options of fetching blobs; undefined when it is switched off. */
const fetchingBy = (client: RegistryClient, { fetchesBlobs, bytesPerSecond }: Config) =>
  fetchesBlobs ? { client, isCapped: bytesPerSecond !== undefined } : undefined;

function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

function onSignal(name: string, stop: AbortController, logger: Logger): void {
  logger.info({ signal: name }, 'Stopping');
  stop.abort(new Error(name));
  setTimeout(() => process.exit(PullerExit.interrupted), STOP_MS).unref();
}

/** Connects to the cluster for progress reports; without a cluster the pull runs all the same. */
function connect(config: Config, logger: Logger): Client | undefined {
  if (!config.progressOnJob) return undefined;
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
    job: cluster && jobSink(cluster, config.namespace),
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
