import { isJsonObject } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';

/** Compliance of one cluster with one policy, as the reference names it. Not matched: neither the roll-up nor a copy has the cluster. */
export type Compliance = 'Compliant' | 'NonCompliant' | 'NotMatchedWithPolicy';

/**
 * Compliance per cluster from the parent's roll-up (spec/talm 2.6.8): only `Compliant` counts as such; without a roll-up
 * every cluster is non-compliant; with one, a cluster that is not in it is not matched. Where the reference stops there we ask for the
 * policy's copy: a cluster that has one is matched, and the roll-up has only not got to it yet.
 */
export function indexCompliance(policy: Policy, hasCopy: (cluster: string) => boolean): (cluster: string) => Compliance {
  const entries: unknown = policy.status?.status;
  if (!Array.isArray(entries)) return () => 'NonCompliant';
  const index = new Map<unknown, Compliance>();
  for (const entry of entries) {
    // The first entry of a cluster counts, as in a linear search.
    if (isJsonObject(entry) && !index.has(entry.clustername))
      index.set(entry.clustername, entry.compliant === 'Compliant' ? 'Compliant' : 'NonCompliant');
  }
  return (cluster) => index.get(cluster) ?? (hasCopy(cluster) ? 'NonCompliant' : 'NotMatchedWithPolicy');
}
