/** The cluster's part of a run, after its nodes: pins by sets, which are nobody's node, and the note of its release. */
import { errorMessage, TerminalError } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import {
  CACHED_RELEASES,
  CachedRelease,
  MOST_CACHED_NODES,
  MOST_CACHED_RELEASES,
  OPERATOR_NAMESPACE,
  readCachedReleases,
} from '@flotilla/api/managed';
import { PullerExit } from '@flotilla/api/ran';
import type { Clock } from '@flotilla/pace';
import { type Client, isConflict, isForbidden, type Logger } from '@flotilla/runtime';
import type { Config } from './config.ts';
import { type ExitCode, PullerErrorCode } from './errors.ts';
import type { FilledNode } from './nodes/members.ts';
import { listNodes } from './nodes/own-cluster.ts';
import { PinnedSets } from './pinned-sets/pinned-sets.ts';
import type { Progress } from './progress/progress.ts';
import type { Cached } from './proof/prove.ts';

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

/** Time of one call for the note, milliseconds. */
const CALL_MS = 10_000;
/** Tries of a note that meets another run's. */
const TRIES = 3;
const PLACE = { namespace: OPERATOR_NAMESPACE, name: CACHED_RELEASES };

/** Facts that are noted. */
interface NoteAsk extends Cached {
  readonly filled: readonly FilledNode[];
  /** Uid of the upgrade, where it is known. */
  readonly upgrade: string | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Notes the release in a ConfigMap that the chart makes where it is asked for; where it is not there, or not this account's to write, nobody waits for
 * it. A failure fails nothing: without a note there is no proof, and whoever asks for one says so.
 */
export async function noteCachedRelease(client: Client, ask: NoteAsk): Promise<void> {
  const { signal, logger } = ask;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await note(client, ask);
    } catch (error) {
      signal.throwIfAborted();
      if (isConflict(error) && attempt < TRIES) continue;
      if (!isForbidden(error)) logger.warn({ err: errorMessage(error) }, 'Noting the cached release failed');
      return;
    }
  }
}

async function note(client: Client, { spec, names, filled, upgrade, signal, clock, logger }: NoteAsk): Promise<void> {
  const image = spec.platformImage;
  const digest = names.find(({ pullSpec }) => pullSpec === image)?.referenceDigest;
  if (image === undefined || digest === undefined) return;
  const call = { signal, timeoutMs: CALL_MS };
  const map = await client.get(ConfigMap, PLACE, call);
  if (!map) return;
  const nodes = identified(filled, await listNodes(client, signal)).slice(0, MOST_CACHED_NODES);
  const entry = CachedRelease.parse({ image, digest, upgrade, at: new Date(clock.now()).toISOString(), nodes });
  const data = { ...dropped(map, keyOf(digest)), [keyOf(digest)]: JSON.stringify(entry) };
  const { uid, resourceVersion } = map.metadata;
  await client.patch(ConfigMap, PLACE, { metadata: { uid, resourceVersion }, data }, { type: 'merge', ...call });
  logger.info({ release: image, nodes: nodes.length }, 'Noted the cached release');
}

const keyOf = (digest: string): string => digest.replace(':', '-');

/** Nodes with their uids. One whose uid is another by now was replaced since, and has nothing. */
function identified(
  filled: readonly FilledNode[],
  listed: readonly { readonly name: string; readonly uid: string }[],
): CachedRelease['nodes'] {
  const uids = new Map(listed.map(({ name, uid }) => [name, uid]));
  return filled.flatMap(({ name, uid }) => {
    const now = uids.get(name);
    return now === undefined || (uid !== undefined && uid !== now) ? [] : [{ name, uid: now }];
  });
}

/** Removes what has no place beside the note of this key: the oldest notes, and what is none. */
function dropped(map: ConfigMap, key: string): Record<string, null> {
  const notes = readCachedReleases(map.data ?? {});
  const others = [...notes].filter(([other]) => other !== key).toSorted(([, a], [, b]) => Date.parse(b.at) - Date.parse(a.at));
  const kept = new Set([key, ...others.slice(0, MOST_CACHED_RELEASES - 1).map(([other]) => other)]);
  return Object.fromEntries(Object.keys(map.data ?? {}).flatMap((other) => (kept.has(other) ? [] : [[other, null] as const])));
}
