/** Effective size of a batch (spec/talm 2.5): `maxConcurrency` when it is between 1 and the number of clusters, else all. */
export const computeMaxConcurrency = (maxConcurrency: number, clusterCount: number): number =>
  maxConcurrency > 0 && maxConcurrency < clusterCount ? maxConcurrency : clusterCount;

/** The batches of an upgrade, and who needs none. */
interface BatchPlan {
  /** Batches in order; empty when every cluster is compliant. */
  readonly batches: string[][];
  /** Clusters left out because they are compliant already, canaries first. */
  readonly compliant: string[];
}

/**
 * The remediation plan (spec/talm 2.7): each non-compliant canary is a batch of its own, then the other non-compliant
 * clusters in order, `maxConcurrency` at a time. A canary that is not among the clusters (it failed pre-caching, say) is
 * neither planned nor called compliant: who dropped it decides what that means.
 */
export function planBatches(input: {
  readonly clusters: readonly string[];
  readonly canaries?: readonly string[] | undefined;
  readonly maxConcurrency: number;
  readonly isCompliant: (cluster: string) => boolean;
}): BatchPlan {
  const { clusters, isCompliant } = input;
  const known = new Set(clusters);
  const canaries = new Set(input.canaries?.filter((canary) => known.has(canary)));
  const size = computeMaxConcurrency(input.maxConcurrency, known.size);

  const compliant: string[] = [];
  const needsWork = (cluster: string): boolean => {
    if (!isCompliant(cluster)) return true;
    compliant.push(cluster);
    return false;
  };
  const batches = [...canaries].filter(needsWork).map((canary) => [canary]);
  const others = [...known].filter((cluster) => !canaries.has(cluster)).filter(needsWork);
  for (let start = 0; start < others.length; start += size) batches.push(others.slice(start, start + size));
  return { batches, compliant };
}
