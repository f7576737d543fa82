/** Paces the writes of statuses: of one upgrade by size and news, and of ended ones, of which a new leader may have thousands to bring up to date. */
import { mergePatch } from '@flotilla/api';
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
  before?.precaching && after.precaching && mergePatch(withoutProgress(before), withoutProgress(after)) === undefined
    ? 'progress'
    : 'states';

/** Measures a status in bytes, as JSON. */
export const sizeOf = (status: Status | undefined): number => Buffer.byteLength(JSON.stringify(status ?? {}));

const withoutProgress = ({ precaching, ...status }: Status) => ({
  ...status,
  precaching: { ...precaching, progress: undefined, summary: undefined, nodes: undefined },
});

/** At most five writes a second. */
const INTERVAL_MS = 200;
/** The first turn comes once the upgrades that are there have been looked at, so that the newest is known. */
const START_MS = 1000;

/** One look at an upgrade that has ended. */
interface Look {
  /** RFC 3339. */
  readonly endedAt: string;
  /** Other work goes first. */
  readonly isBusy: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Gives turns to upgrades that have ended, to the newest first. */
export class EndedTurns {
  /** Keys that wait, and when they ended. */
  readonly #waiting = new Map<string, string>();
  #freeAt: number;

  /** @param now milliseconds since the epoch */
  constructor(now: number) {
    this.#freeAt = now + START_MS;
  }

  /** Milliseconds until the next look at the upgrade; 0 is its turn, and takes it. */
  wait(key: string, { endedAt, isBusy, now }: Look): number {
    this.#waiting.set(key, endedAt);
    // A turn further away predates a step back of the clock.
    const freeMs = Math.min(Math.max(this.#freeAt - now, 0), START_MS);
    const ahead = this.#countAhead(key, endedAt);
    if (freeMs > 0 || ahead > 0 || isBusy) return Math.max(freeMs + ahead * INTERVAL_MS, 1) + (isBusy ? INTERVAL_MS : 0);
    this.#waiting.delete(key);
    this.#freeAt = now + INTERVAL_MS;
    return 0;
  }

  /** An upgrade waits no more. */
  forget(key: string): void {
    this.#waiting.delete(key);
  }

  #countAhead(key: string, endedAt: string): number {
    let count = 0;
    for (const [other, end] of this.#waiting) if (end > endedAt || (end === endedAt && other < key)) count += 1;
    return count;
  }
}
