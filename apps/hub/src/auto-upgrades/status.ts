import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type EventToRecord, eventSubject } from '@flotilla/runtime';
import type { ClusterPlan } from './plan.ts';

/** Builds the event about a cluster without an upgrade: a ManagedCluster has no status of ours. */
export function refusalEvent(cluster: ManagedCluster, { policy, wave }: Extract<ClusterPlan, { kind: 'refuse' }>): EventToRecord {
  return {
    type: 'Warning',
    reason: 'CguNotCreated',
    action: 'CreatingUpgrade',
    note: `No ClusterGroupUpgrade is created for ${cluster.metadata.name}: annotation ${Annotation.deployWave} of policy ${policy} is ${JSON.stringify(wave)}: set it to a whole number on the parent policy`,
    regarding: eventSubject(ManagedCluster, cluster),
  };
}
