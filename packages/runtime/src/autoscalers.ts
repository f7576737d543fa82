import { refKey } from '@flotilla/api';
import { HorizontalPodAutoscaler } from '@flotilla/api/core';
import type { Client } from './client.ts';
import { isForbidden } from './errors.ts';
import { WatchCache, type WatchSurroundings } from './watch-cache.ts';

/** An object as autoscalers name it: the version of its API does not count. */
interface ScaledObject {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Key of an object that autoscalers may name. */
export const scaledKeyOf = ({ group, kind, namespace = '', name }: ScaledObject): string =>
  `${group}/${kind}|${refKey({ namespace, name })}`;

/** Key of the object whose replicas an autoscaler sets; undefined for one that cannot be read. */
export function scaleTargetOf({ metadata: { namespace }, spec }: HorizontalPodAutoscaler): string | undefined {
  if (!spec) return undefined;
  const { apiVersion, kind, name } = spec.scaleTargetRef;
  const [group = '', version] = (apiVersion ?? '').split('/');
  return scaledKeyOf({ group: version === undefined ? '' : group, kind, namespace, name });
}

type Cache = WatchCache<HorizontalPodAutoscaler, 'target'>;

/** The cluster's autoscalers. They are read when it is first asked if an object is scaled, and watched from then on. */
export class Autoscalers {
  readonly #client: Client;
  readonly #surroundings: WatchSurroundings;
  #reading: { readonly cache: Cache; readonly end: AbortController } | undefined;
  #signal: AbortSignal | undefined;
  #isRefused = false;
  #onLeave: (target: string) => void = () => undefined;

  constructor(client: Client, surroundings: WatchSurroundings) {
    this.#client = client;
    this.#surroundings = surroundings;
  }

  /** Called with the object (`scaledKeyOf`) that an autoscaler names no more. */
  set onLeave(listener: (target: string) => void) {
    this.#onLeave = listener;
  }

  /** Reads until the signal aborts; nothing before the first `isScaled`. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  async stopped(): Promise<void> {
    await this.#reading?.cache.stopped();
  }

  /** True when an autoscaler that has been read names the object. */
  names(object: ScaledObject): boolean {
    return (this.#reading?.cache.byIndex('target', scaledKeyOf(object)).length ?? 0) > 0;
  }

  /** True when an autoscaler names the object. A list that is refused is told once, and sent again by the next call: until then none names anything. */
  async isScaled(object: ScaledObject): Promise<boolean> {
    this.#reading ??= this.#begin();
    const reading = this.#reading;
    try {
      await reading.cache.tried();
    } catch (err) {
      if (this.#reading === reading) this.#reading = undefined;
      reading.end.abort();
      if (!isForbidden(err)) throw err;
      this.#tellRefusal(err);
    }
    return this.names(object);
  }

  #begin(): { readonly cache: Cache; readonly end: AbortController } {
    const cache: Cache = new WatchCache(this.#client, HorizontalPodAutoscaler, {
      ...this.#surroundings,
      optional: 'until-served',
      transform: ({ metadata: { name, namespace, uid, resourceVersion }, spec }) => ({
        metadata: { name, namespace, uid, resourceVersion },
        spec: spec && { scaleTargetRef: spec.scaleTargetRef },
      }),
      indexes: { target: (autoscaler) => [scaleTargetOf(autoscaler) ?? []].flat() },
    });
    cache.subscribe((change) => {
      const before = change.type === 'deleted' ? change.object : change.previous;
      const target = before && scaleTargetOf(before);
      if (target !== undefined && cache.byIndex('target', target).length === 0) this.#onLeave(target);
    });
    const end = new AbortController();
    cache.start(this.#signal ? AbortSignal.any([this.#signal, end.signal]) : end.signal);
    return { cache, end };
  }

  #tellRefusal(err: unknown): void {
    if (this.#isRefused || this.#signal?.aborted) return;
    this.#isRefused = true;
    this.#surroundings.logger?.warn(
      { err },
      'Reading the autoscalers failed: replicas are put back as the manifest has them, whoever scales the object',
    );
  }
}
