import { type KubeObject, type Ref, refKey } from '@flotilla/api';

/** Change of one object. */
export type Change<T> =
  | { readonly type: 'set'; readonly object: T; readonly previous?: T }
  | { readonly type: 'deleted'; readonly object: T; readonly previous?: undefined };

/** Pure function of the object: under which values it is found. */
export type Index<T> = (object: T) => readonly string[];

/** Objects by key and by index; no copies. */
export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  /** Key to version of what this process has written and the server has not yet told of. */
  readonly #written = new Map<string, bigint>();
  /** Key to uid of what this process has deleted and the server has not yet told of. */
  readonly #deleted = new Map<string, string>();
  readonly #indexes = new Map<string, { readonly of: Index<T>; readonly keys: Map<string, Set<string>> }>();
  readonly #onIndexError: (index: string, object: T, error: unknown) => void;

  constructor(indexes: Readonly<Record<string, Index<T>>>, onIndexError: (index: string, object: T, error: unknown) => void) {
    for (const [name, of] of Object.entries(indexes)) this.#indexes.set(name, { of, keys: new Map() });
    this.#onIndexError = onIndexError;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): MapIterator<string> {
    return this.#objects.keys();
  }

  values(): T[] {
    return [...this.#objects.values()];
  }

  byIndex(name: string, value: string): T[] {
    const found: T[] = [];
    for (const key of this.#indexes.get(name)?.keys.get(value) ?? []) {
      const object = this.#objects.get(key);
      if (object) found.push(object);
    }
    return found;
  }

  /** Undefined when the object is there in this very version, or as this process has written or deleted it since. */
  set(object: T): Change<T> | undefined {
    const key = refKey(object.metadata);
    if (this.#isOutdated(key, object)) return undefined;
    // One that leaves was not gone at once.
    if (this.#deleted.has(key) && this.#deleted.get(key) === object.metadata.uid && !object.metadata.deletionTimestamp) return undefined;
    this.#written.delete(key);
    return this.#put(key, object);
  }

  /**
   * This process has written the object: what was seen of it before does not bring that back.
   * @param passed version up to which everything was told: what is not here by then is gone
   */
  wrote(object: T, passed?: string): Change<T> | undefined {
    const key = refKey(object.metadata);
    const version = versionOf(object.metadata.resourceVersion);
    const known = versionOf(this.#objects.get(key)?.metadata.resourceVersion ?? passed);
    if (version === undefined || (known !== undefined && known >= version)) return undefined;
    this.#written.set(key, version);
    return this.#put(key, object);
  }

  #put(key: string, object: T): Change<T> | undefined {
    const previous = this.#objects.get(key);
    if (previous && isSameVersion(previous, object)) return undefined;
    if (previous) this.#unindex(key, previous);
    this.#objects.set(key, object);
    for (const [name, index] of this.#indexes) for (const value of this.#values(name, index.of, object)) add(index.keys, value, key);
    return { type: 'set', object, previous };
  }

  /**
   * Takes over a deletion by this process that the watch has not told yet: an object with finalizers is shown as leaving, any other as gone.
   * An event from before does not bring it back.
   * @param at when it was deleted, milliseconds since the epoch
   */
  deleted(ref: Ref, uid: string | undefined, at: number): Change<T> | undefined {
    const key = refKey(ref);
    const previous = this.#objects.get(key);
    if (!previous || previous.metadata.uid !== uid || previous.metadata.deletionTimestamp) return undefined;
    if (!previous.metadata.finalizers?.length) {
      const change = this.delete(ref);
      this.#deleted.set(key, uid ?? '');
      return change;
    }
    const object = { ...previous, metadata: { ...previous.metadata, deletionTimestamp: new Date(at).toISOString() } };
    this.#objects.set(key, object);
    return { type: 'set', object, previous };
  }

  /** A full read begins: it knows all that was written before, whatever the versions say. */
  forgetWrites(): void {
    this.#written.clear();
    this.#deleted.clear();
  }

  /**
   * True for an object that this process has written since the last full read began, and of which nothing was told since.
   * @param listed version of that read: an older object that it lacks is gone
   */
  isWritten(key: string, listed: string): boolean {
    const [written, version] = [this.#written.get(key), versionOf(listed)];
    return written !== undefined && (version === undefined || written > version);
  }

  /** Undefined when there was no such object, or this process has made it anew since. `last` is its last state, if the server sent one. */
  delete(ref: Ref, last?: T): Change<T> | undefined {
    const key = refKey(ref);
    const previous = this.#objects.get(key);
    if (last && this.#isOutdated(key, last)) return undefined;
    this.#written.delete(key);
    if (last && this.#deleted.get(key) === last.metadata.uid) this.#deleted.delete(key);
    if (!previous) return undefined;
    this.#unindex(key, previous);
    this.#objects.delete(key);
    return { type: 'deleted', object: last ?? previous };
  }

  /** True for a version older than the writes and deletions of this process. */
  #isOutdated(key: string, { metadata }: T): boolean {
    const written = this.#written.get(key);
    if (written === undefined) return false;
    const version = versionOf(metadata.resourceVersion);
    return version !== undefined && written > version;
  }

  #unindex(key: string, object: T): void {
    for (const [name, index] of this.#indexes) for (const value of this.#values(name, index.of, object)) remove(index.keys, value, key);
  }

  #values(name: string, of: Index<T>, object: T): readonly string[] {
    try {
      return of(object);
    } catch (error) {
      this.#onIndexError(name, object, error);
      return [];
    }
  }
}

const isSameVersion = (a: KubeObject, b: KubeObject): boolean =>
  a.metadata.resourceVersion !== undefined &&
  a.metadata.resourceVersion === b.metadata.resourceVersion &&
  a.metadata.uid === b.metadata.uid;

/** A version as a number; servers promise that versions of one kind can be compared so. Undefined for a version that is none. */
const versionOf = (version: string | undefined): bigint | undefined =>
  version !== undefined && /^\d{1,20}$/.test(version) ? BigInt(version) : undefined;

function add(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value);
  if (keys) keys.add(key);
  else index.set(value, new Set([key]));
}

function remove(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(value);
}
