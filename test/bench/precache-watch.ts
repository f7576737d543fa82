import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, WatchCache } from '@flotilla/runtime';

/** Watches upgrades from beside, as anyone with access to the API server can; times are those at which its watch tells. */
export class PrecacheWatch {
  /** By cluster, milliseconds since the epoch: its state became Succeeded. */
  readonly succeeded = new Map<string, number>();
  /** Bytes of the largest upgrade, as JSON. */
  largest = 0;
  /** Bytes of all versions that were seen, by the second in which they were: what every watch of upgrades is sent. */
  readonly bytesBySecond = new Map<number, number>();
  versions = 0;
  readonly #stop = new AbortController();

  constructor(client: Client) {
    const cache = new WatchCache(client, ClusterGroupUpgrade, { namespace: 'default' });
    cache.subscribe(({ type, object }) => {
      if (type === 'set') this.#see(object);
    });
    cache.start(this.#stop.signal);
  }

  stop(): void {
    this.#stop.abort();
  }

  #see(upgrade: ClusterGroupUpgrade): void {
    const now = Date.now();
    const second = Math.floor(now / 1000);
    const bytes = Buffer.byteLength(JSON.stringify(upgrade));
    this.versions += 1;
    this.largest = Math.max(this.largest, bytes);
    this.bytesBySecond.set(second, (this.bytesBySecond.get(second) ?? 0) + bytes);
    for (const [cluster, state] of Object.entries(upgrade.status?.precaching?.status ?? {}))
      if (state === 'Succeeded' && !this.succeeded.has(cluster)) this.succeeded.set(cluster, now);
  }
}
