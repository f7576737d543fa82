import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { ObservedSpoke } from '@flotilla/rollout';
import { BY_CLUSTER, type SpokeCaches } from '../../caches.ts';
import { decidingLabelsOf } from '../../lookups.ts';

/** Gathers the facts about one spoke. */
export function observeRolloutSpoke(upgrade: ClusterGroupUpgrade, cluster: string, caches: SpokeCaches): ObservedSpoke {
  const managed = caches.clusters.get({ name: cluster });
  return {
    upgrade,
    cluster,
    managed: managed?.metadata.deletionTimestamp === undefined ? managed : undefined,
    template: (name) => caches.templates.get({ namespace: upgrade.metadata.namespace, name }),
    works: caches.works.byIndex(BY_CLUSTER, cluster),
    views: caches.views.byIndex(BY_CLUSTER, cluster),
    actions: caches.actions.byIndex(BY_CLUSTER, cluster),
    decidingLabels: decidingLabelsOf(caches),
  };
}
