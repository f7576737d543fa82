import { type ClusterGroupUpgrade, OVERRIDES_CONFIG_MAP } from '@flotilla/api/ran';
import type { ObservedUpgrade } from '@flotilla/rollout';
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
