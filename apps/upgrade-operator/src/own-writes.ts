import type { KubeObject } from '@flotilla/api';

/** What this process wrote of one object, until its cache shows it: a pass must not undo or repeat what the last one did. */
export class OwnWrites<T extends KubeObject> {
  #written: { readonly object: T; readonly superseded: ReadonlySet<string> } | undefined;

  /** Remembers that `before` was made into `after`. */
  note(before: KubeObject, after: T): void {
    const earlier = this.#written?.object.metadata.resourceVersion === before.metadata.resourceVersion ? this.#written?.superseded : [];
    this.#written = { object: after, superseded: new Set([...(earlier ?? []), before.metadata.resourceVersion ?? '']) };
  }

  /** The newer one of what the cache has and what was written. */
  newest(cached: T | undefined): T | undefined {
    const written = this.#written;
    if (!written) return cached;
    const isBehind = cached?.metadata.uid === written.object.metadata.uid && written.superseded.has(cached?.metadata.resourceVersion ?? '');
    if (isBehind) return written.object;
    this.#written = undefined;
    return cached;
  }
}
