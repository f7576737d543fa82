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
