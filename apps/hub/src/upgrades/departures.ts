import { Annotation } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import type { Change, WatchCache } from '@flotilla/runtime';

/**
 * ManagedClusters that were seen to be deleted, or held when they went: nobody waits for them. A hub that starts later has not seen it, and waits for a
 * cluster that is gone as for one that is not restored yet.
 */
export class Departures {
  readonly #names = new Set<string>();

  constructor(clusters: Pick<WatchCache<ManagedCluster>, 'list' | 'subscribe'>) {
    for (const object of clusters.list()) this.#note({ type: 'set', object });
    clusters.subscribe((change) => this.#note(change));
  }

  has(cluster: string): boolean {
    return this.#names.has(cluster);
  }

  #note({ type, object: { metadata } }: Pick<Change<ManagedCluster>, 'type' | 'object'>): void {
    const { name, deletionTimestamp, annotations } = metadata;
    const wasHeld = type === 'deleted' && annotations?.[Annotation.hold] !== undefined;
    if (deletionTimestamp !== undefined || wasHeld) this.#names.add(name);
    else if (type === 'set') this.#names.delete(name);
  }
}
