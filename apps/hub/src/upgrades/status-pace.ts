/** Paces the writes of an upgrade's status by its size and news. Pure. */
import { isSameJson } from '@flotilla/api';
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';

type Status = ClusterGroupUpgradeStatus;

/** Milliseconds between two writes of one upgrade, even of a small status. */
const SHORTEST_PAUSE_MS = 1000;
/**
 * Bytes a second of one upgrade's status. The server reads, checks, stores and sends the whole status for any change. With 2,000 clusters a write
 * costs a tenth of a second of its CPU, which the spokes' own writes would lack.
 */
const BYTES_PER_SECOND = 64 * 1024;
/** Part of that for progress: states and verdicts go first. */
const PROGRESS_BYTES_PER_SECOND = BYTES_PER_SECOND / 4;

/** Kind of a status change. */
export type News = 'states' | 'progress';

/** Milliseconds between a write of these bytes and the next one with such news. */
export const pauseAfter = (bytes: number, news: News): number =>
  Math.max(SHORTEST_PAUSE_MS, Math.ceil((bytes * 1000) / (news === 'states' ? BYTES_PER_SECOND : PROGRESS_BYTES_PER_SECOND)));

/** Classifies a change: progress of spokes ranks second, every other change first. */
export const newsOf = (before: Status | undefined, after: Status): News =>
  before?.precaching && after.precaching && isSameJson(withoutProgress(before), withoutProgress(after)) ? 'progress' : 'states';

/** Measures a status in bytes, as JSON. */
export const sizeOf = (status: Status | undefined): number => Buffer.byteLength(JSON.stringify(status ?? {}));

function withoutProgress(status: Status): Status {
  const precaching = status.precaching && { ...status.precaching, progress: undefined, summary: undefined, nodes: undefined };
  return JSON.parse(JSON.stringify({ ...status, precaching })) as Status;
}
