import type { Json } from './schema/schema.ts';

/** An object as it is stored: never changed, only replaced. */
export interface Stored {
  readonly object: Json;
  /** The object as JSON. */
  readonly text: string;
  readonly namespace: string;
  readonly name: string;
}

/** One change of the store. */
export interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** State after it; of a deletion the last one, under the version of the deletion. */
  readonly after: Stored;
  /** Absent for a new object. */
  readonly before: Stored | undefined;
}

/** Objects of one kind, and the changes that led to them. */
class KindLog {
  readonly objects = new Map<string, Stored>();
  changes: Change[] = [];
}

/** Key of an object in a kind; it sorts as the server lists. */
export const objectKey = (namespace: string, name: string): string => `${namespace}/${name}`;

/** Objects of all kinds under one count of versions, with as many changes as watches and later pages of a list need. */
export class ObjectLog {
  readonly #kinds = new Map<string, KindLog>();
  /** Texts of what was stored, by the object. */
  readonly #texts = new WeakMap<object, string>();
  readonly #mostChanges: number;
  #version: number;
  /** Changes up to this version are forgotten. */
  #oldest: number;

  /** @param firstVersion of an empty store @param mostChanges of a kind that are kept */
  constructor(firstVersion: number, mostChanges: number) {
    this.#version = firstVersion;
    this.#oldest = firstVersion;
    this.#mostChanges = mostChanges;
  }

  /** Version of the last change. */
  get version(): number {
    return this.#version;
  }

  /** Watches may begin at this version, or at a later one. */
  get oldest(): number {
    return this.#oldest;
  }

  /** An object as JSON; undefined for one that was never stored as it is. */
  textOf(object: unknown): string | undefined {
    return typeof object === 'object' && object !== null ? this.#texts.get(object) : undefined;
  }

  get(kind: string, key: string): Stored | undefined {
    return this.#kinds.get(kind)?.objects.get(key);
  }

  /** Objects of a kind as they are now, or were at a version that is not forgotten, sorted as a server lists them. */
  list(kind: string, version = this.#version): Stored[] {
    const log = this.#kinds.get(kind);
    if (!log) return [];
    const objects = version === this.#version ? log.objects : this.#back(log, version);
    return [...objects].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, stored]) => stored);
  }

  #back({ objects, changes }: KindLog, version: number): Map<string, Stored> {
    const then = new Map(objects);
    for (const { version: at, after, before } of changes.toReversed()) {
      if (at <= version) break;
      const key = objectKey(after.namespace, after.name);
      if (before) then.set(key, before);
      else then.delete(key);
    }
    return then;
  }

  /** Changes of a kind after a version, in order. */
  changesAfter(kind: string, version: number): readonly Change[] {
    const { changes } = this.#kinds.get(kind) ?? { changes: [] };
    let first = changes.length;
    while (first > 0 && (changes[first - 1]?.version ?? 0) > version) first -= 1;
    return changes.slice(first);
  }

  /** Stores an object under the next version, or removes it. @param make gets the version */
  write(kind: string, key: string, type: Change['type'], make: (version: string) => Omit<Stored, 'text'>): Stored {
    const log = this.#kinds.get(kind) ?? new KindLog();
    this.#kinds.set(kind, log);
    this.#version += 1;
    const made = make(String(this.#version));
    const after: Stored = { ...made, text: JSON.stringify(made.object) };
    this.#texts.set(made.object, after.text);
    log.changes.push({ version: this.#version, type, after, before: log.objects.get(key) });
    if (type === 'DELETED') log.objects.delete(key);
    else log.objects.set(key, after);
    if (log.changes.length > this.#mostChanges) this.compact(log.changes[log.changes.length - this.#mostChanges - 1]?.version);
    return after;
  }

  /** Forgets all changes up to a version; default: all. */
  compact(version = this.#version): void {
    this.#oldest = Math.max(this.#oldest, version);
    for (const log of this.#kinds.values()) log.changes = log.changes.filter((change) => change.version > version);
  }

  /** Kinds that have objects. */
  get kinds(): readonly string[] {
    return [...this.#kinds.keys()];
  }
}
