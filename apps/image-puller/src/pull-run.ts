import { errorMessage } from '@flotilla/api';
import { type Clock, systemClock } from '@flotilla/pace';
import type { RegistryClient } from '@flotilla/registry';
import type { Logger } from '@flotilla/runtime';
import { createRegistrySource } from '@flotilla/software';
import type { TakeBytes } from './bandwidth.ts';
import type { Config } from './config.ts';
import type { BlobSharing } from './nodes/coordination.ts';
import type { Progress } from './progress/progress.ts';
import type { OnCached } from './proof/prove.ts';
import { openCriStore } from './pull/cri-store.ts';
import { openLayoutStore } from './pull/layout-store.ts';
import { openRegistryClient, readPullSecret } from './registry-client.ts';
import { runPuller } from './run.ts';
import { readImageCare } from './space/image-care.ts';
import { readPullSpec } from './spec-files.ts';
import type { ExitCode } from './verdict.ts';

/** Milliseconds for which the list waits for a registry that does not answer. */
const LIST_RETRY_MS = 120_000;

/** Dependencies of a run that differ between a node alone, a lead and its followers. */
export interface PullRun {
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** The cap of the link; undefined without one. */
  readonly take: TakeBytes | undefined;
  /** Other nodes of the spoke. */
  readonly sharing?: BlobSharing;
  readonly onCached?: OnCached;
  /** See `runPuller`. */
  readonly serve?: (code: ExitCode) => Promise<ExitCode>;
}

/** Runs the puller on this node by its configuration. */
export async function pullOnce(config: Config, { take, sharing, serve, onCached, ...deps }: PullRun): Promise<ExitCode> {
  const clock: Clock = systemClock;
  const { progress, logger } = deps;
  const onRetry = (error: unknown, waitMs: number): void => {
    progress.triesAgain(error);
    logger.warn({ waitMs, err: errorMessage(error) }, 'Asking the registry again');
  };
  const retry = { refusedTries: 1, retryForMs: Math.min(config.retryForMs, LIST_RETRY_MS), clock, random: Math.random, onRetry };
  // opened on first use, so that a bad secret or CA has its exit code and report
  const registry = lazy(async () => {
    const credentials = await readPullSecret(config.pullSecretPath);
    return { credentials, client: await openRegistryClient(config, credentials, take) };
  });
  return runPuller({
    ...deps,
    config: { ...config, imageCare: await readImageCare(config, deps.logger) },
    readSpec: () => readPullSpec(config.specDir),
    openSource: async (content) => createRegistrySource((await registry()).client, retry, { content }),
    openStore: async () => {
      const common = { ...config, ...deps, clock, random: Math.random };
      if (config.mode !== 'pull') return openCriStore({ ...common, credentials: { auths: {} } });
      const { client, credentials } = await registry();
      return config.store === 'layout'
        ? openLayoutStore(config.layoutDir, client)
        : openCriStore({ ...common, credentials, sharing, fetching: fetchingBy(client, config) });
    },
    serve,
    onCached,
    handOver: sharing && ((signal) => sharing.handOver(signal)),
    clock,
    random: Math.random,
  });
}

/** Options of fetching blobs; undefined when it is switched off. */
const fetchingBy = (client: RegistryClient, { fetchesBlobs, bytesPerSecond }: Config) =>
  fetchesBlobs ? { client, isCapped: bytesPerSecond !== undefined } : undefined;

function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
