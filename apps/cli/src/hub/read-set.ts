import { type Ref, refKey } from '@flotilla/api';
import type { Seen } from '@flotilla/rollout';

const SKIPPED = { kind: 'skipped' } as const;

/** Objects of one kind, or lists of them: those that were read, and those that somebody asked for since. */
export class ReadSet<T> {
  readonly #kind: string;
  readonly #readOne: (ref: Ref) => Promise<T | undefined>;
  readonly #seen = new Map<string, Seen<T>>();
  readonly #wanted = new Map<string, Ref>();

  constructor(kind: string, readOne: (ref: Ref) => Promise<T | undefined>) {
    this.#kind = kind;
    this.#readOne = readOne;
  }

  /** The object, which is read before the next answer when it is not here. */
  want(ref: Ref): Seen<T> {
    const key = refKey(ref);
    if (!this.#seen.has(key)) this.#wanted.set(key, ref);
    return this.known(ref);
  }

  /** The object as far as it is here. */
  known(ref: Ref): Seen<T> {
    return this.#seen.get(refKey(ref)) ?? SKIPPED;
  }

  add(ref: Ref, object: T): void {
    this.#seen.set(refKey(ref), { kind: 'read', object });
  }

  clear(): void {
    this.#seen.clear();
    this.#wanted.clear();
  }

  /** Reads of what somebody asked for. @param explain says why one failed */
  takeReads(explain: (what: string, error: unknown) => string): (() => Promise<void>)[] {
    const wanted = [...this.#wanted];
    this.#wanted.clear();
    return wanted.map(([key, ref]) => async () => {
      try {
        this.#seen.set(key, { kind: 'read', object: await this.#readOne(ref) });
      } catch (error) {
        this.#seen.set(key, { kind: 'unread', why: explain(`${this.#kind} ${key}`, error) });
      }
    });
  }
}
