import { ConfigMap } from '@flotilla/api/core';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';

/** ConfigMap in which a cluster lists the authorities of client certificates. */
const REF = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };

/** The authorities of client certificates of a cluster; not known before they are followed. */
export class ScraperAuthorities {
  #cache: WatchCache<ConfigMap> | undefined;

  /** Reads them until the signal aborts. */
  follow(client: Client, surroundings: WatchSurroundings, signal: AbortSignal): void {
    const { namespace, name } = REF;
    this.#cache = new WatchCache(client, ConfigMap, { ...surroundings, namespace, fieldSelector: `metadata.name=${name}` });
    this.#cache.start(signal);
  }

  /** PEM; undefined while they are not known. */
  get pem(): string | undefined {
    return this.#cache?.get(REF)?.data?.['client-ca-file'] || undefined;
  }
}
