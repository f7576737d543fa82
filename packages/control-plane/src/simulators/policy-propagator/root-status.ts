/** States a cluster reports; absent: it has not reported yet. */
export type ComplianceState = 'Compliant' | 'NonCompliant' | 'Pending';

/** One cluster's part in a root policy's status; JSON names are lower-case (spec/ocm 3.3). */
interface ClusterEntry {
  readonly clustername: string;
  readonly clusternamespace: string;
  readonly compliant?: ComplianceState;
}

/** `status` of a root policy as it is written. */
interface RootStatus {
  /** Absent: some cluster has not reported, or there is none. */
  readonly compliant?: ComplianceState;
  /** Sorted by name. */
  readonly status: readonly ClusterEntry[];
}

/** Rolls the clusters up (spec/ocm 3.3): NonCompliant or Pending if any is, in this order; else nothing while any has not reported; else Compliant. */
export function rollUpClusters(states: ReadonlyMap<string, ComplianceState | undefined>): RootStatus {
  const status = [...states]
    .map(([cluster, compliant]) => ({ clustername: cluster, clusternamespace: cluster, ...(compliant && { compliant }) }))
    .sort((a, b) => (a.clustername < b.clustername ? -1 : 1));
  const compliant = overall(new Set(states.values()));
  return { ...(compliant && { compliant }), status };
}

function overall(seen: ReadonlySet<ComplianceState | undefined>): ComplianceState | undefined {
  if (seen.has('NonCompliant')) return 'NonCompliant';
  if (seen.has('Pending')) return 'Pending';
  return seen.has(undefined) || seen.size === 0 ? undefined : 'Compliant';
}
