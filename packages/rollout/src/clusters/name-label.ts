/** The label `name` of ManagedClusters, by which Placements select. Pure. */
import type { ManagedCluster } from '@flotilla/api/ocm';
import { explain } from '@flotilla/api/ran';

/** Key of the label. */
export const NAME_LABEL = 'name';

/** A label that names another cluster, with value and fix; undefined when it is right, or missing: then it is added. */
export function findNameLabelProblem(cluster: string, managed: ManagedCluster | undefined): string | undefined {
  const value = managed?.metadata.labels?.[NAME_LABEL];
  if (value === undefined || value === cluster) return undefined;
  const problem = `ManagedCluster ${cluster} has the label ${NAME_LABEL}=${JSON.stringify(value)}, by which no Placement selects it`;
  return explain('InvalidNameLabel', problem, { name: JSON.stringify(cluster) });
}
