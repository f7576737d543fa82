import { type KubeObject, type Ref, type Resource, refKey } from '@flotilla/api';
import type { Seen } from '@flotilla/rollout';

const SKIPPED = { kind: 'skipped' } as const;

/** Objects of one kind: those that were read, and those that somebody asked for since. */
export class ReadSet<T extends KubeObject> {
  readonly #kind: Resource<T>;
  readonly #readOne: (ref: Ref) => Promise<T | undefined>;
  readonly #seen = new Map<string, Seen<T>>();
  readonly #wanted = new Map<string, Ref>();

  constructor(kind: Resource<T>, readOne: (ref: Ref) => Promise<T | undefined>) {
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

  add(object: T): void {
    this.#seen.set(refKey(object.metadata), { kind: 'read', object });
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
        this.#seen.set(key, { kind: 'unread', why: explain(`${this.#kind.kind} ${key}`, error) });
      }
    });
  }
}
