/** The cluster's part of a run, after its nodes: pins by sets, which are nobody's node. */
import { errorMessage, TerminalError } from '@flotilla/api';
import { PullerExit } from '@flotilla/api/ran';
import type { Clock } from '@flotilla/pace';
import type { Client, Logger } from '@flotilla/runtime';
import { noteCachedRelease } from './cached-release.ts';
import type { Config } from './config.ts';
import { PullerErrorCode } from './errors.ts';
import type { FilledNode } from './nodes/members.ts';
import { PinnedSets } from './pinned-sets/pinned-sets.ts';
import type { Progress } from './progress/progress.ts';
import type { Cached } from './proof/prove.ts';
import type { ExitCode } from './verdict.ts';

/** Longest wait for nodes that pin: a control plane looks at one image a second. */
const PINNING_MS = 600_000;
/** Milliseconds of the Job's time that are left for its end. */
const SPARE_MS = 30_000;
/** Longest text of a risk. */
const MAX_VALUE = 128;

/** Result of the nodes, and what it takes to tell the cluster. */
interface ClusterDeps {
  readonly cluster: Client | undefined;
  /** Undefined where the run found less than everything. */
  readonly cached: Cached | undefined;
  /** Nodes that have it. */
  readonly filled: readonly FilledNode[];
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time of the process's start. */
  readonly startedAt: number;
}

type Settings = Pick<Config, 'mode' | 'pinFor' | 'pinBy' | 'deadlineMs'>;

/** Does the cluster's part after a run whose nodes are all as they should be. Returns the exit code of both. */
export async function finishInCluster(config: Settings, own: ExitCode, deps: ClusterDeps): Promise<ExitCode> {
  const { progress, logger, signal } = deps;
  if (own !== PullerExit.done || deps.signal.aborted) return own;
  try {
    if (config.mode === 'unpin') await removeSets(config, deps);
    else if (deps.cached) await tellOfCached(config, deps.cached, deps);
    return own;
  } catch (error) {
    logger.error({ err: errorMessage(error) }, 'Telling the cluster failed');
    progress.enter('failed', errorMessage(error));
    return signal.aborted ? PullerExit.interrupted : PullerExit.internal;
  }
}

/** The note comes first: a wait for pins takes nothing from what is there. */
async function tellOfCached(config: Settings, cached: Cached, deps: ClusterDeps): Promise<void> {
  if (deps.cluster) await noteCachedRelease(deps.cluster, { ...deps, ...cached, upgrade: config.pinFor });
  await pinBySets(config, cached, deps);
}

/** Pins by sets what all nodes have. A failure is said and fails nothing: the images are there all the same. */
async function pinBySets({ pinFor, pinBy, mode, deadlineMs }: Settings, cached: Cached, deps: ClusterDeps): Promise<void> {
  if (pinFor === undefined || pinBy !== 'pinned-image-set') return;
  const { cluster, filled, progress, startedAt, clock } = deps;
  progress.enter('done', 'all images are there; waiting until the nodes have pinned them');
  const patienceMs = Math.max(0, Math.min(PINNING_MS, startedAt + deadlineMs - SPARE_MS - clock.now()));
  const names = cached.names.map(({ pullSpec }) => pullSpec);
  const ask = { names, filled: filled.map(({ name }) => name), makes: mode === 'pull', patienceMs };
  const problem = cluster ? await new PinnedSets({ ...deps, cluster, owner: pinFor }).pin(ask) : 'none: no cluster to ask';
  if (problem === undefined) progress.pinnedAre(names.length);
  else progress.risksAre([{ name: 'pins', value: problem.slice(0, MAX_VALUE) }]);
  progress.enter('done');
}

/** Removes the sets of an upgrade. A failure is the run's: the hub tries again, and tells. */
async function removeSets({ pinFor, pinBy }: Settings, { cluster, ...deps }: ClusterDeps): Promise<void> {
  if (pinFor === undefined || pinBy !== 'pinned-image-set') return;
  if (!cluster) throw new TerminalError(PullerErrorCode.configInvalid, 'PinnedImageSets are to be removed, but there is no cluster to ask');
  await new PinnedSets({ ...deps, cluster, owner: pinFor }).remove();
}
