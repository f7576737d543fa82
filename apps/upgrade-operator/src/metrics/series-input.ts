import { CLUSTER_VERSION_NAME } from '@flotilla/api/config';
import { UPGRADE_CONFIG_NAME } from '@flotilla/api/managed';
import { completedVersions } from '@flotilla/upgrade';
import type { Caches } from '../caches.ts';
import type { SeriesInput } from './upgrade-series.ts';

/** What the second endpoint shows, as the caches have it. */
export function seriesInputOf({ upgradeConfigs, clusterVersions }: Caches, namespace: string): SeriesInput {
  const clusterVersion = clusterVersions.get({ name: CLUSTER_VERSION_NAME });
  return {
    upgradeConfig: upgradeConfigs.get({ namespace, name: UPGRADE_CONFIG_NAME }),
    completed: clusterVersion ? completedVersions(clusterVersion) : [],
  };
}
