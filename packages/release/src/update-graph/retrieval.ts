import { findCondition } from '@flotilla/api';
import type { ClusterVersionStatus, Release } from '@flotilla/api/config';
import { isClusterRisk } from './cluster-risks.ts';
import type { UpdateQuery, UpdateRefusal } from './query.ts';
import type { GraphUpdates } from './updates.ts';

const DAY_MS = 24 * 3_600_000;

/** Memory of the last request for updates. */
export interface Retrieval {
  /** Key of the query (`retrievalKey`); updates of another channel say nothing. */
  readonly key: string;
  readonly attemptedAtMs: number;
  /** Last good answer, or when what is asked for changed, milliseconds since the epoch. */
  readonly freshAtMs: number;
  readonly updates?: GraphUpdates | undefined;
  readonly refusal?: UpdateRefusal | undefined;
}

/** Key of a query: the answers of one say nothing about another. */
export const retrievalKey = ({ service, channel, architecture, version }: UpdateQuery): string =>
  JSON.stringify([service, channel, architecture, version]);

/** When updates are asked for next, milliseconds since the epoch. */
export const retrievalDueMs = (last: Retrieval | undefined, key: string, intervalMs: number): number =>
  last === undefined || last.key !== key ? 0 : last.attemptedAtMs + intervalMs;

/** Facts of a status that was stored before a start. */
interface StoredUpdates {
  readonly status: ClusterVersionStatus | undefined;
  readonly channel: string;
  readonly version: string;
  readonly nowMs: number;
}

/**
 * Memory of a process that has just started: the stored updates are known, since the last good answer as far as the condition tells. Undefined
 * where none are stored, or where they are those of another release or channel.
 * @param key of the query now
 */
export function storedRetrieval(key: string, { status, channel, version, nowMs }: StoredUpdates): Retrieval | undefined {
  const { desired, conditions } = status ?? {};
  if (!desired || desired.version !== version) return undefined;
  const isOffered = ({ channels }: Release): boolean => channels === undefined || channels.includes(channel);
  const updates = (status?.availableUpdates ?? []).filter(isOffered);
  const conditional = (status?.conditionalUpdates ?? []).filter(({ release }) => isOffered(release));
  if (updates.length + conditional.length === 0) return undefined;
  const retrieved = findCondition(conditions, 'RetrievedUpdates');
  const freshAtMs = retrieved?.status === 'True' ? nowMs : Date.parse(retrieved?.lastTransitionTime ?? '') || 0;
  const risky = conditional.map(({ release, risks }) => ({ release, risks: risks.filter((risk) => !isClusterRisk(risk)) }));
  const plain = risky.filter(({ risks }) => risks.length === 0).map(({ release }) => release);
  const found = { current: desired, updates: [...updates, ...plain], conditional: risky.filter(({ risks }) => risks.length > 0) };
  return { key, attemptedAtMs: Number.NEGATIVE_INFINITY, freshAtMs: Math.min(freshAtMs, nowMs), updates: found };
}

interface Attempt {
  readonly key: string;
  readonly result: GraphUpdates | UpdateRefusal;
  readonly nowMs: number;
}

/** Memory after an attempt: a failure keeps the known updates for a day. */
export function afterAttempt(last: Retrieval | undefined, { key, result, nowMs }: Attempt): Retrieval {
  if ('updates' in result) return { key, attemptedAtMs: nowMs, freshAtMs: nowMs, updates: result };
  const isKnown = last !== undefined && last.key === key && nowMs - last.freshAtMs <= DAY_MS;
  return {
    key,
    attemptedAtMs: nowMs,
    freshAtMs: last?.key === key ? last.freshAtMs : nowMs,
    updates: isKnown ? last.updates : undefined,
    refusal: result,
  };
}
