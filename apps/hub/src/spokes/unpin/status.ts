import { ManagedCluster } from '@flotilla/api/ocm';
import type { UpgradeIdentity } from '@flotilla/rollout';
import type { EventToRecord } from '@flotilla/runtime';

/** Longest reason in the event, in characters. */
const MAX_WHY = 512;

/** Builds the event about pins that may be left: the upgrade that has ended has no status for it. */
export function pinsLeftEvent(cluster: ManagedCluster, { uid }: UpgradeIdentity, failure: string): EventToRecord {
  const { name, uid: clusterUid, resourceVersion } = cluster.metadata;
  return {
    type: 'Warning',
    reason: 'PinsLeft',
    action: 'RemovingPins',
    note: `Pins of the ended upgrade ${uid} may be left on ${name}: ${failure.slice(0, MAX_WHY)}; they count for nothing after seven days, when the next pull on a node removes them`,
    regarding: { apiVersion: ManagedCluster.apiVersion, kind: ManagedCluster.kind, name, uid: clusterUid, resourceVersion },
  };
}
