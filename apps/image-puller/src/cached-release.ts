/** The note of a release that the nodes have, for whoever waits for it in the cluster. */
import { errorMessage } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import {
  CACHED_RELEASES,
  CachedRelease,
  MOST_CACHED_NODES,
  MOST_CACHED_RELEASES,
  OPERATOR_NAMESPACE,
  readCachedReleases,
} from '@flotilla/api/managed';
import { type Client, type Clock, isConflict, isForbidden, type Logger } from '@flotilla/runtime';
import type { FilledNode } from './nodes/members.ts';
import { listNodes } from './nodes/own-cluster.ts';
import type { Cached } from './proof/prove.ts';

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
