import { errorMessage, type KubeObject, refKey, WaitingError } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { backOffMs } from '@flotilla/pace';
import { type HubWrite, identityOf, upgradeIndexOf, upgradeIndexValue } from '@flotilla/rollout';
import { type Client, isConflict, type Logger } from '@flotilla/runtime';
import { applyWrites, describeWrites, type Ownership } from '../writes/apply.ts';
import { type PlanCaches, placementWrites } from './plan.ts';

/** Dependencies of `Placing`. */
interface PlacingDeps {
  readonly client: Client;
  readonly caches: PlanCaches;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Receives the error of each attempt; undefined: nothing is missing. */
  readonly onPlaced: (upgrade: ClusterGroupUpgrade, error: unknown) => void;
  /** Decide as the reference does; default false. */
  readonly talmStrict?: boolean;
}

/** Milliseconds for which errors pass, and for which somebody who undoes writes is given in to a few times. */
const LASTING_MS = 15_000;
const MOST_IN_A_ROW = 12;
const BACK_OFF = { baseMs: 500, maxMs: LASTING_MS };
/** Milliseconds until a conflict is planned anew: the caches have its cause by then. */
const CONFLICT_MS = 200;

/** Attempts of the same writes in a row; times in milliseconds since the epoch. */
interface Row {
  readonly plan: string;
  readonly since: number;
  readonly times: number;
  readonly hasFailed: boolean;
  /** No attempt before. */
  readonly pausedUntil: number;
}

/** Leaves each upgrade the Placements and PlacementBindings of its stored status. What it remembers can be forgotten. */
export class Placing {
  readonly #deps: PlacingDeps;
  readonly #rows = new Map<string, Row>();

  constructor(deps: PlacingDeps) {
    this.#deps = deps;
  }

  /**
   * Makes the missing writes. Never rejects.
   * @param upgrade as stored: a status from before would bring an earlier batch back
   * @returns milliseconds until the next attempt; undefined: only a change brings it
   */
  async apply(upgrade: ClusterGroupUpgrade): Promise<number | undefined> {
    const { caches, logger, talmStrict, now, onPlaced } = this.#deps;
    const { uid = '' } = upgrade.metadata;
    const writes = placementWrites(upgrade, caches, talmStrict);
    if (writes.length === 0) {
      if (this.#rows.get(uid)?.hasFailed) this.#rows.delete(uid);
      onPlaced(upgrade, undefined);
      return undefined;
    }
    const row = this.#next(uid, describeWrites(writes));
    const leftMs = row.pausedUntil - now();
    // A longer pause predates a step back of the clock.
    if (leftMs > 0 && leftMs <= LASTING_MS) return leftMs;
    try {
      await this.#write(upgrade, writes);
      const pausedUntil = row.times < MOST_IN_A_ROW ? 0 : row.since + LASTING_MS;
      this.#rows.set(uid, { ...row, hasFailed: false, pausedUntil });
      onPlaced(upgrade, undefined);
      return undefined;
    } catch (error) {
      if (isConflict(error)) return CONFLICT_MS;
      const isWaiting = error instanceof WaitingError;
      logger[isWaiting ? 'debug' : 'warn']({ upgrade: refKey(upgrade.metadata), reason: errorMessage(error) }, 'Writing Placements failed');
      onPlaced(upgrade, error);
      const pauseMs = isWaiting ? error.retryAfterMs : backOffMs(BACK_OFF, row.times);
      this.#rows.set(uid, { ...row, hasFailed: true, pausedUntil: now() + pauseMs });
      return pauseMs;
    }
  }

  forget(uid: string): void {
    this.#rows.delete(uid);
  }

  /** The row with one attempt more; a new one for other writes. */
  #next(uid: string, plan: string): Row {
    const now = this.#deps.now();
    const row = this.#rows.get(uid);
    const goesOn = row?.plan === plan && row.since <= now && (row.hasFailed || now - row.since < LASTING_MS);
    return goesOn ? { ...row, times: row.times + 1 } : { plan, since: now, times: 1, hasFailed: false, pausedUntil: 0 };
  }

  async #write(upgrade: ClusterGroupUpgrade, writes: readonly HubWrite[]): Promise<void> {
    const { client, caches, logger, signal } = this.#deps;
    const value = upgradeIndexValue(identityOf(upgrade));
    const decideOwner = (existing: KubeObject): Ownership => (upgradeIndexOf(existing) === value ? 'ours' : { takenBy: ownerOf(existing) });
    const written = [caches.placements, caches.bindings];
    await Promise.all(writes.map((write) => applyWrites([write], { client, decideOwner, caches: written, signal, logger })));
  }
}

function ownerOf(existing: KubeObject): string {
  const fix = 'delete it, or give this upgrade another name suffix';
  const owner = upgradeIndexOf(existing);
  return owner === '/' ? `no ClusterGroupUpgrade; ${fix}` : `ClusterGroupUpgrade ${owner}; ${fix}`;
}
