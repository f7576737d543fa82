/** Counts attempts of the same writes in a row: somebody may undo each for ever, or refuse it. */
import { WaitingError } from '@flotilla/api';
import { backOffMs } from '@flotilla/pace';

/** Attempts of the same writes within so many milliseconds, before there is a pause until their end. */
const MOST_IN_A_ROW = 12;
/** Longest pause, in milliseconds, and the time for which attempts are a row. */
const ROW_MS = 15_000;
const BACK_OFF = { baseMs: 500, maxMs: ROW_MS };

/** Attempts in a row; times in milliseconds since the epoch. */
interface Row {
  readonly plan: string;
  readonly since: number;
  readonly times: number;
  /** The last one has failed: none before this time. */
  readonly retryAt?: number;
}

/** Rows of attempts by upgrade. They live in memory: a restart begins anew. */
export class Attempts {
  readonly #now: () => number;
  /** By uid of the upgrade, then by id of the attempts within it. */
  readonly #rows = new Map<string, Map<string, Row>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts an attempt of these writes. Returns the time until which there is none instead, milliseconds since the epoch. */
  begin(uid: string, id: string, plan: string): number | undefined {
    const now = this.#now();
    const rows = this.#rows.get(uid) ?? new Map<string, Row>();
    const row = rows.get(id);
    const goesOn = row?.plan === plan && row.since <= now && (row.retryAt !== undefined || now - row.since < ROW_MS);
    const at = goesOn ? (row.retryAt ?? (row.times < MOST_IN_A_ROW ? 0 : row.since + ROW_MS)) : 0;
    // A longer pause predates a step back of the clock.
    if (at > now && at <= now + ROW_MS) return at;
    this.#rows.set(uid, rows.set(id, goesOn ? { plan, since: row.since, times: row.times + 1 } : { plan, since: now, times: 1 }));
    return undefined;
  }

  /** The attempt has failed; returns the time of the next one, milliseconds since the epoch. */
  failed(uid: string, id: string, error: unknown): number {
    const rows = this.#rows.get(uid);
    const row = rows?.get(id);
    const retryAt = this.#now() + (error instanceof WaitingError ? error.retryAfterMs : backOffMs(BACK_OFF, row?.times ?? 1));
    if (row) rows?.set(id, { ...row, retryAt });
    return retryAt;
  }

  /** Nothing is left to write. Only a row without failures goes on for its time: its writes may be undone again. */
  done(uid: string, id: string): void {
    const rows = this.#rows.get(uid);
    const row = rows?.get(id);
    if (row && (row.retryAt !== undefined || row.since + ROW_MS <= this.#now())) rows?.delete(id);
    if (rows?.size === 0) this.forget(uid);
  }

  forget(uid: string): void {
    this.#rows.delete(uid);
  }
}
