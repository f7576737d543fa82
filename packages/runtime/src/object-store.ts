import { type KubeObject, type Ref, refKey } from '@flotilla/api';

/** What happened to one object. */
export type Change<T> =
  | { readonly type: 'set'; readonly object: T; readonly previous?: T }
  | { readonly type: 'deleted'; readonly object: T; readonly previous?: undefined };

/** Pure function of the object: under which values it is found. */
export type Index<T> = (object: T) => readonly string[];

/** Objects by key and by index; no copies. */
export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
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

  /** Undefined when the object is there in this very version. */
  set(object: T): Change<T> | undefined {
    const key = refKey(object.metadata);
    const previous = this.#objects.get(key);
    if (previous && isSameVersion(previous, object)) return undefined;
    if (previous) this.#unindex(key, previous);
    this.#objects.set(key, object);
    for (const [name, index] of this.#indexes) for (const value of this.#values(name, index.of, object)) add(index.keys, value, key);
    return { type: 'set', object, previous };
  }

  /** Undefined when there was no such object. `last` is its last state, if the server sent one. */
  delete(ref: Ref, last?: T): Change<T> | undefined {
    const key = refKey(ref);
    const previous = this.#objects.get(key);
    if (!previous) return undefined;
    this.#unindex(key, previous);
    this.#objects.delete(key);
    return { type: 'deleted', object: last ?? previous };
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
