import { type CrdManifest, crd, UNSEEN } from '../crd.ts';
import { toStructural } from '../structural.ts';
import { ClusterGroupUpgrade, ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus } from './cluster-group-upgrade.ts';
import { PreCachingConfig, PreCachingConfigSpec } from './pre-caching-config.ts';

/** CRDs of the kinds that users write: ClusterGroupUpgrade and PreCachingConfig (spec/talm 1). */
export function ranCrds(): CrdManifest[] {
  return [
    crd(ClusterGroupUpgrade, {
      description: 'An upgrade of a group of clusters: what to pre-cache, which clusters, in which batches.',
      spec: {
        description: 'Which clusters are brought to what, in which batches, and what is pulled onto them first.',
        ...toStructural(ClusterGroupUpgradeSpec),
      },
      status: {
        description: 'What the hub found and did: conditions say whether it goes on, and if not, why and what to do.',
        ...toStructural(ClusterGroupUpgradeStatus),
        default: UNSEEN,
      },
      shortNames: ['cgu'],
      // The last condition is the current state: its place in the list is part of the contract.
      columns: [
        { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        { name: 'State', type: 'string', jsonPath: '.status.conditions[-1:].reason' },
        { name: 'Details', type: 'string', jsonPath: '.status.conditions[-1:].message' },
        { name: 'Cached', type: 'string', jsonPath: '.status.summary.cached', priority: 1 },
        { name: 'Batch', type: 'string', jsonPath: '.status.summary.batch', priority: 1 },
        { name: 'Failed', type: 'integer', jsonPath: '.status.summary.failed', priority: 1 },
        { name: 'Eta', type: 'string', jsonPath: '.status.summary.eta', priority: 1 },
      ],
    }),
    crd(PreCachingConfig, {
      description: 'Overrides of what a ClusterGroupUpgrade pre-caches.',
      spec: {
        description: 'Images to pull onto the clusters beside those that the policies name, or instead of them.',
        ...toStructural(PreCachingConfigSpec),
      },
    }),
  ];
}
