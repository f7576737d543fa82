import { Annotation } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, OVERRIDES_CONFIG_MAP } from '@flotilla/api/ran';
import type { ObservedUpgrade } from '@flotilla/rollout';
import type { Change, WatchCache } from '@flotilla/runtime';
import { BY_CLUSTER, BY_NAME, type HubCaches, type TenancyCaches } from '../caches.ts';
import { tenancyOf, waysFrom } from '../lookups.ts';

/** Watches that decide about a ClusterGroupUpgrade. */
export type UpgradeCaches = TenancyCaches &
  Pick<
    HubCaches,
    'upgrades' | 'clusters' | 'configs' | 'overrides' | 'parents' | 'children' | 'templates' | 'placements' | 'bindings' | 'decisions'
  >;

/** Gathers the facts about one upgrade. @param now milliseconds since the epoch */
export function observeUpgrade(upgrade: ClusterGroupUpgrade, caches: UpgradeCaches, now: number): ObservedUpgrade {
  const namespace = upgrade.metadata.namespace ?? '';
  const ref = upgrade.spec?.preCachingConfigRef;
  const tenancy = tenancyOf(namespace, caches);
  const configNamespace = ref?.namespace || namespace;
  const mayRead = tenancy === undefined || configNamespace === namespace;
  return {
    upgrade,
    managed: caches.clusters.list(),
    childrenOf: (clusters) => clusters.flatMap((cluster) => caches.children.byIndex(BY_CLUSTER, cluster)),
    parent: (ns, name) => caches.parents.get({ namespace: ns, name }),
    policiesNamed: (name) => caches.parents.byIndex(BY_NAME, name),
    ways: waysFrom(caches, (name) => caches.clusters.get({ name }), now),
    tenancy,
    config: ref?.name && mayRead ? caches.configs.get({ namespace: configNamespace, name: ref.name }) : undefined,
    overrides: caches.overrides.get({ namespace, name: OVERRIDES_CONFIG_MAP }),
    template: (name) => caches.templates.get({ namespace, name }),
    servesPolicies: servesPolicies(caches),
    servesDecisions: caches.decisions.present,
    servesClusters: caches.clusters.present,
    upgradeAt: (blocker) => caches.upgrades.get(blocker),
  };
}

/** True when the API server serves the policy framework; nothing can be enforced without it. */
export const servesPolicies = ({ parents, placements }: Pick<UpgradeCaches, 'parents' | 'placements'>): boolean =>
  parents.present && placements.present;

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
