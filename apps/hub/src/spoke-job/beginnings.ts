/** How many spokes begin at the same time: what has begun gets its job, and its verdict, before others begin. */
import { keyId, type StepKey } from '@flotilla/queues';
import type { Clock } from '@flotilla/runtime';

/**
 * Spokes on their way to a job at the same time, until the job is there. All at once they would only wait for each other, and a verdict behind all of them: with 2,000
 * spokes and jobs of 20 s a verdict is stored within 9 s with 100, 24 s with 200 and a minute with no bound, the last job starts after 143,
 * 120 and 70 s (`npm run bench:precache`, two cores).
 */
const MOST = 125;
/**
 * A spoke that has no job after so long does not keep others back: its agent is slow or silent. Longer than a server that has much to do takes:
 * else more and more would begin just then.
 */
const PATIENCE_MS = 20_000;

/** What the count of those that begin needs. */
export interface BeginningsDeps {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** It is the turn of a spoke that was kept back. */
  readonly onTurn: (key: StepKey) => void;
  /** Default 125. */
  readonly most?: number;
}

/** The spokes that begin now, and those that wait for their turn, in the order in which they asked. In memory: after a restart they ask again. */
export class Beginnings {
  readonly #deps: BeginningsDeps;
  /** Those that have had their turn. */
  readonly #begun = new Map<string, Disposable>();
  /** Of these, those that keep others back. */
  readonly #counted = new Set<string>();
  readonly #waiting = new Map<string, StepKey>();

  constructor(deps: BeginningsDeps) {
    this.#deps = deps;
  }

  /** Whether the spoke may begin now; if not, `onTurn` tells when. One that may keeps its turn until it leaves. */
  mayBegin(key: StepKey): boolean {
    const id = keyId(key);
    if (this.#begun.has(id)) return true;
    if (this.#counted.size >= (this.#deps.most ?? MOST)) {
      this.#waiting.set(id, key);
      return false;
    }
    this.#begin(id);
    return true;
  }

  /** The spoke has its job, its verdict, or nothing to do any more. */
  leave(key: StepKey): void {
    const id = keyId(key);
    this.#waiting.delete(id);
    this.#begun.get(id)?.[Symbol.dispose]();
    this.#begun.delete(id);
    this.#makeRoom(id);
  }

  stop(): void {
    for (const timer of this.#begun.values()) timer[Symbol.dispose]();
    this.#begun.clear();
    this.#counted.clear();
    this.#waiting.clear();
  }

  #begin(id: string): void {
    this.#waiting.delete(id);
    this.#counted.add(id);
    const timer = this.#deps.clock.setTimer(PATIENCE_MS, () => this.#makeRoom(id));
    this.#begun.set(id, timer);
  }

  #makeRoom(left: string): void {
    const [next] = this.#waiting;
    if (!this.#counted.delete(left) || !next) return;
    const [id, key] = next;
    this.#begin(id);
    this.#deps.onTurn(key);
  }
}
