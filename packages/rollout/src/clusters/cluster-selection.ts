import type { ManagedCluster } from '@flotilla/api/ocm';
import { type ClusterGroupUpgradeSpec, type ConditionReason, explain } from '@flotilla/api/ran';
import { compileSelector, describeSelector, type Matcher } from './label-selector.ts';
import { notBound, nothingBound, type Tenancy } from './tenancy.ts';

/** Why no cluster list could be made; `reason` and `message` are those of condition ClustersSelected. */
export interface SelectionFailure {
  /** All but `ClusterNotFound` are ours; with `ClusterNotBound` the cluster, if it is there, is another tenant's. */
  readonly reason: Extract<
    ConditionReason,
    'ClusterNotFound' | 'ClusterNotBound' | 'NoClustersSelected' | 'ClusterApiMissing' | 'WaitingForMembers'
  >;
  readonly message: string;
  /** Explicit names without a ManagedCluster, all of them. */
  readonly missing?: readonly string[];
}
/** The clusters of an upgrade in order, or why there are none. */
export type ClusterSelection = { readonly clusters: string[]; readonly failure?: undefined } | { readonly failure: SelectionFailure };

/** Fields of the spec that selection reads. */
export type SelectionSpec = Pick<ClusterGroupUpgradeSpec, 'clusters' | 'clusterSelector' | 'clusterLabelSelectors'> & {
  readonly remediationStrategy?: { readonly canaries?: readonly string[] | undefined } | undefined;
};

/**
 * The clusters of an upgrade (spec/talm 2.5): explicit ones in spec order, then those that match any selector, sorted;
 * none twice; with a tenancy, of the clusters that it reaches. Unlike the reference, a selector with an unknown operator or a wrong number of values is refused with the
 * field, the value and the fix, instead of selecting something else than was meant.
 */
export function selectClusters(spec: SelectionSpec, fleet: Iterable<ManagedCluster>, tenancy?: Tenancy): ClusterSelection {
  if (!spec.clusters && !spec.clusterSelector && !spec.clusterLabelSelectors) return unobtainable('no cluster specified for remediation');
  const managed = tenancy ? [...fleet].filter(tenancy.reaches) : [...fleet];
  const known = new Map(managed.map((cluster) => [cluster.metadata.name, cluster.metadata.labels ?? {}]));

  const matchers: Matcher[] = [compileEntries(spec.clusterSelector ?? [])];
  for (const [index, selector] of (spec.clusterLabelSelectors ?? []).entries()) {
    const compiled = compileSelector(selector, `spec.clusterLabelSelectors[${index}]`);
    if ('problem' in compiled) return unobtainable(compiled.problem);
    matchers.push(compiled.matches);
  }

  const explicit = [...new Set(spec.clusters)];
  const missing = explicit.filter((name) => !known.has(name));
  if (missing.length > 0 && !tenancy) return failure(`cluster ${missing[0]} is not a ManagedCluster`, missing);
  // A tenant must not learn whether a cluster is another tenant's or is not there at all.
  if (missing[0] !== undefined && tenancy) {
    const { says, fix } = notBound(missing[0], tenancy.namespace);
    return unbound(`${says}; ${fix}`, missing);
  }
  if (managed.length === 0 && tenancy) return unbound(nothingBound(tenancy.namespace));
  const selected = [...known].filter(([, labels]) => matchers.some((matches) => matches(labels))).map(([name]) => name);
  const clusters = [...new Set([...explicit, ...selected.toSorted()])];

  const chosen = new Set(clusters);
  const stray = spec.remediationStrategy?.canaries?.find((canary) => !chosen.has(canary));
  return stray === undefined ? { clusters } : failure(`canary cluster ${stray} is not in the list of clusters`);
}

/** Clusters that the spec selects of those that there are: one that has gone since the start hinders no other. */
export function selectPresent(spec: SelectionSpec, fleet: readonly ManagedCluster[], tenancy?: Tenancy): readonly string[] {
  const names = new Set(fleet.map(({ metadata }) => metadata.name));
  const { clusterSelector, clusterLabelSelectors } = spec;
  const clusters = spec.clusters?.filter((name) => names.has(name));
  const selection = selectClusters({ clusters, clusterSelector, clusterLabelSelectors }, fleet, tenancy);
  return selection.failure ? [] : selection.clusters;
}

/** Why nobody is selected, where the reference would go on without a cluster; undefined when somebody is. */
export function findNobodySelected(spec: SelectionSpec, selection: ClusterSelection, fleet: number): SelectionFailure | undefined {
  if (selection.failure || selection.clusters.length > 0) return undefined;
  const asked = [...(spec.clusterLabelSelectors ?? []).map(describeSelector), ...(spec.clusterSelector ?? [])];
  const shown = asked.slice(0, MOST_SELECTORS).join(' or ');
  const rest = asked.length > MOST_SELECTORS ? ` and ${asked.length - MOST_SELECTORS} more` : '';
  const problem = asked.length > 0 ? `${shown}${rest} matches 0 of ${fleet}` : 'spec.clusters is empty';
  return { reason: 'NoClustersSelected', message: explain('NoClustersSelected', problem) };
}

/** The hub has no clusters because the API server does not know what one is. */
export const CLUSTER_API_MISSING: SelectionFailure = {
  reason: 'ClusterApiMissing',
  message: explain('ClusterApiMissing', 'the API server does not serve ManagedCluster (cluster.open-cluster-management.io/v1)'),
};

/** Selectors that a message names. */
const MOST_SELECTORS = 5;

const unobtainable = (why: string): ClusterSelection => failure(`cannot obtain all the details about the clusters in the CR: ${why}`);

const unbound = (why: string, missing?: readonly string[]): ClusterSelection => ({
  failure: { reason: 'ClusterNotBound', message: `Unable to select clusters: ${why}`, ...(missing && { missing }) },
});

const failure = (why: string, missing?: readonly string[]): ClusterSelection => ({
  failure: { reason: 'ClusterNotFound', message: `Unable to select clusters: ${why}`, ...(missing && { missing }) },
});

/**
 * Deprecated form: `key=value`, or `key` for an empty value; an entry with more than one `=` selects nothing. Thousands of entries cost a
 * cluster no more than one does: its labels are looked up in them.
 */
function compileEntries(entries: readonly string[]): Matcher {
  const wanted = new Set(entries.map((entry) => (entry.includes('=') ? entry : `${entry}=`)));
  return (labels) => Object.entries(labels).some(([key, value]) => wanted.has(`${key}=${value}`));
}
