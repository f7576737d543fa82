import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '@flotilla/api';
import { PrecacheSpecKey } from '@flotilla/api/ran';
import { type Clock, systemClock } from '@flotilla/pace';
import type { Logger } from '@flotilla/runtime';
import { createRegistrySource, type PullSpec, parsePullSpec, refuse } from '@flotilla/software';
import type { Config } from './config.ts';
import type { ExitCode } from './errors.ts';
import type { LinkCap } from './link-cap.ts';
import { openRegistryClient, readPullSecret } from './node-registries.ts';
import type { BlobSharing } from './nodes/peer-blobs.ts';
import type { Progress } from './progress/progress.ts';
import type { OnCached } from './proof/prove.ts';
import { openCriStore } from './pull/cri-store.ts';
import { openLayoutStore } from './pull/layout-store.ts';
import { runPuller } from './run.ts';
import { readImageCare } from './space/space.ts';

/** Milliseconds for which the list waits for a registry that does not answer. */
const LIST_RETRY_MS = 120_000;

/** Dependencies of a run that differ between a node alone, a lead and its followers. */
export interface PullRun {
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly cap: LinkCap;
  /** Other nodes of the spoke. */
  readonly sharing?: BlobSharing;
  readonly onCached?: OnCached;
  /** See `runPuller`. */
  readonly serve?: (code: ExitCode) => Promise<ExitCode>;
}

/** Runs the puller on this node by its configuration. */
export async function pullOnce(config: Config, { cap, sharing, serve, onCached, ...deps }: PullRun): Promise<ExitCode> {
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
    return { credentials, client: await openRegistryClient(config, credentials, cap) };
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
        : openCriStore({ ...common, credentials, sharing, fetching: config.fetchesBlobs ? { client, cap } : undefined });
    },
    serve,
    onCached,
    handOver: sharing && ((signal) => sharing.handOver(signal)),
    clock,
    random: Math.random,
  });
}

function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** Bound of a whole ConfigMap: 1 MiB. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Reads the spec from a mounted ConfigMap: one file for each key.
 * @throws SpecError when the folder or a file cannot be read or does not parse
 */
async function readPullSpec(dir: string): Promise<PullSpec> {
  const found = await stat(dir).catch(() => undefined);
  if (!found?.isDirectory())
    throw refuse('*', `cannot be read: there is no folder ${dir}; mount ConfigMap pre-cache-spec there or set CONFIG_VOLUME_PATH`);
  const entries = await Promise.all(Object.values(PrecacheSpecKey).map(async (key) => [key, await readKey(dir, key)] as const));
  return parsePullSpec(Object.fromEntries(entries.filter(([, value]) => value !== undefined)));
}

async function readKey(dir: string, key: string): Promise<string | undefined> {
  try {
    await using file = await open(join(dir, key));
    const info = await file.stat();
    if (!info.isFile()) throw refuse(key, 'is not a file');
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_FILE_BYTES + 1), 0, MAX_FILE_BYTES + 1, 0);
    if (bytesRead > MAX_FILE_BYTES) throw refuse(key, `has more than ${MAX_FILE_BYTES} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    if (error instanceof TypeError) throw refuse(key, 'is not UTF-8 text', error);
    throw error instanceof Error && 'code' in error && String(error.code).startsWith('FLOTILLA_')
      ? error
      : refuse(key, `cannot be read: ${errorMessage(error)}`, error);
  }
}
