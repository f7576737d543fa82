import type { KubeObject } from '@flotilla/api';

/** What this process wrote of one object, until its cache shows it: a pass must not undo or repeat what the last one did. */
export class OwnWrites<T extends KubeObject> {
  #written: T | undefined;

  /** Remembers an object as the server answered a write, or a look at it. */
  note(object: T): void {
    this.#written = this.newest(object);
  }

  /** The newer one of what the cache has and what was written. */
  newest(cached: T): T;
  newest(cached: T | undefined): T | undefined;
  newest(cached: T | undefined): T | undefined {
    const written = this.#written;
    if (!written) return cached;
    if (cached?.metadata.uid === written.metadata.uid && isOlder(cached, written)) return written;
    this.#written = undefined;
    return cached;
  }
}

/** Versions of one object are numbers that grow. */
const isOlder = (a: KubeObject | undefined, b: KubeObject): boolean => versionOf(a) < versionOf(b);
const versionOf = (object: KubeObject | undefined): bigint => {
  const text = object?.metadata.resourceVersion ?? '';
  return /^\d+$/.test(text) ? BigInt(text) : 0n;
};
