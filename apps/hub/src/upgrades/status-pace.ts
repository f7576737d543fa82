/** How often the status of an upgrade is written: its size and what is new in it say so. Pure. */
import { isSameJson } from '@flotilla/api';
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';

type Status = ClusterGroupUpgradeStatus;

/** Milliseconds between two writes of one upgrade, however small its status is. */
const SHORTEST_PAUSE_MS = 1000;
/**
 * Bytes a second of one upgrade's status. Whatever of it changes, the server reads, checks, stores and sends all of it to everybody who
 * watches: with 2,000 clusters a tenth of a second of its CPU for each write, which every spoke's own writes would lack.
 */
const BYTES_PER_SECOND = 64 * 1024;
/** Of these, for how far the spokes are: states and verdicts go first. */
const PROGRESS_BYTES_PER_SECOND = BYTES_PER_SECOND / 4;

/** What is new in a status. */
export type News = 'states' | 'progress';

/** Milliseconds from a write of so many bytes to the next one with such news. */
export const pauseAfter = (bytes: number, news: News): number =>
  Math.max(SHORTEST_PAUSE_MS, Math.ceil((bytes * 1000) / (news === 'states' ? BYTES_PER_SECOND : PROGRESS_BYTES_PER_SECOND)));

/** How far spokes are is news of the second rank; everything else is of the first. */
export const newsOf = (before: Status | undefined, after: Status): News =>
  before?.precaching && after.precaching && isSameJson(withoutProgress(before), withoutProgress(after)) ? 'progress' : 'states';

/** Bytes of a status as JSON. */
export const sizeOf = (status: Status | undefined): number => Buffer.byteLength(JSON.stringify(status ?? {}));

function withoutProgress(status: Status): Status {
  const precaching = status.precaching && { ...status.precaching, progress: undefined, summary: undefined };
  return JSON.parse(JSON.stringify({ ...status, precaching })) as Status;
}
