import { HorizontalPodAutoscaler } from '@flotilla/api/core';
import { type Manifest, scaledKeyOf, scaleTargetOf } from '@flotilla/release';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';

type Cache = WatchCache<HorizontalPodAutoscaler, 'target'>;

/** The cluster's autoscalers. They are read when the first object has other replicas than its release, and watched from then on. */
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

  /** Reads until the signal aborts; nothing before the first `read`. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  async stopped(): Promise<void> {
    await this.#reading?.cache.stopped();
  }

  /** True when an autoscaler that has been read names the object. */
  names(object: Manifest): boolean {
    return (this.#reading?.cache.byIndex('target', scaledKeyOf(object)).length ?? 0) > 0;
  }

  /** Resolves when they have been read. A list that is refused is told once, and sent again by the next call: until then none names anything. */
  async read(): Promise<void> {
    this.#reading ??= this.#begin();
    const reading = this.#reading;
    try {
      await reading.cache.tried();
    } catch (err) {
      if (this.#reading === reading) this.#reading = undefined;
      reading.end.abort();
      this.#tellRefusal(err);
    }
  }

  #begin(): { readonly cache: Cache; readonly end: AbortController } {
    const cache: Cache = new WatchCache(this.#client, HorizontalPodAutoscaler, {
      ...this.#surroundings,
      optional: true,
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
      'Reading the autoscalers failed: replicas are put back as the release has them, whoever scales the object',
    );
  }
}
