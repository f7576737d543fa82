/** A ManagedCluster as upgrades read it. Pure. */
import { findCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster } from '@flotilla/api/ocm';
import { explain } from '@flotilla/api/ran';

/** Label of a ManagedCluster by which Placements select it. */
export const NAME_LABEL = 'name';

/** A label that names another cluster, with value and fix; undefined when it is right, or missing: then it is added. */
export function findNameLabelProblem(cluster: string, managed: ManagedCluster | undefined): string | undefined {
  const value = managed?.metadata.labels?.[NAME_LABEL];
  if (value === undefined || value === cluster) return undefined;
  const problem = `ManagedCluster ${cluster} has the label ${NAME_LABEL}=${JSON.stringify(value)}, by which no Placement selects it`;
  return explain('InvalidNameLabel', problem, { name: JSON.stringify(cluster) });
}

/** False when the spoke's agent is known to be away, or nobody knows; a cluster of which nothing is said at all counts as available. */
export const isAvailable = (cluster: ManagedCluster | undefined): boolean =>
  cluster !== undefined && (findCondition(cluster.status?.conditions, CLUSTER_AVAILABLE)?.status ?? 'True') === 'True';
