import { findCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster } from '@flotilla/api/ocm';
import type { Change } from '@flotilla/runtime';
import { findDenial } from './denied-cluster.ts';

/** Ignores heartbeats: they change neither the selection of clusters nor the observation of one. */
export function hasClusterChanged({ type, object, previous }: Change<ManagedCluster>): boolean {
  const facts = ({ metadata, spec, status }: ManagedCluster) =>
    JSON.stringify([
      metadata.labels,
      metadata.annotations,
      metadata.deletionTimestamp,
      findCondition(status?.conditions, CLUSTER_AVAILABLE)?.status,
      findDenial({ metadata, spec, status }),
    ]);
  return type === 'deleted' || !previous || facts(object) !== facts(previous);
}
