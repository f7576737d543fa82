/** Clusters that the upgrades of one namespace may reach on a hub that keeps tenants apart (`--tenancy`). Pure. */
import { CLUSTER_SET_LABEL, type ManagedCluster, type ManagedClusterSet, type ManagedClusterSetBinding } from '@flotilla/api/ocm';
import { compileSelector, label, type Matcher } from './label-selector.ts';

/** One namespace and its clusters. */
export interface Tenancy {
  readonly namespace: string;
  /** The cluster is in a set that is bound to the namespace. */
  readonly reaches: (cluster: ManagedCluster) => boolean;
  /** Labels by which the sets of tenants choose their clusters: an edit of one would move a cluster from one tenant to another. */
  readonly decidingLabels: ReadonlySet<string>;
}

/**
 * The clusters that the bindings of a namespace let it use, as a Placement there would see them (spec/ocm 2.3). A binding or set that is
 * being deleted, a set that does not exist, and a selector that cannot be read give nothing.
 * @param deciding see `decidingLabels`
 */
export function judgeTenancy(
  namespace: string,
  bindings: readonly ManagedClusterSetBinding[],
  set: (name: string) => ManagedClusterSet | undefined,
  deciding: ReadonlySet<string> = new Set(),
): Tenancy {
  const matchers = bindings.flatMap(({ metadata, spec }) => {
    const bound = metadata.deletionTimestamp === undefined && spec?.clusterSet ? set(spec.clusterSet) : undefined;
    return bound && bound.metadata.deletionTimestamp === undefined ? [compileSet(bound)] : [];
  });
  return {
    namespace,
    reaches: ({ metadata }) => matchers.some((matches) => matches(metadata.labels ?? {})),
    decidingLabels: deciding,
  };
}

/**
 * Labels by which the sets choose their clusters that are bound to any namespace: an edit of one moves a cluster between tenants. A binding
 * or set that is being deleted counts, for it may come back.
 */
export function decidingLabels(
  bindings: readonly ManagedClusterSetBinding[],
  set: (name: string) => ManagedClusterSet | undefined,
): ReadonlySet<string> {
  return new Set(bindings.flatMap(({ spec }) => (spec?.clusterSet ? labelsOf(set(spec.clusterSet)) : [])));
}

function labelsOf(set: ManagedClusterSet | undefined): string[] {
  const { matchLabels, matchExpressions } = set?.spec?.clusterSelector?.labelSelector ?? {};
  return [...Object.keys(matchLabels ?? {}), ...(matchExpressions ?? []).map(({ key }) => key)];
}

const nobody: Matcher = () => false;

function compileSet({ metadata, spec }: ManagedClusterSet): Matcher {
  const { selectorType, labelSelector } = spec?.clusterSelector ?? {};
  if (!selectorType || selectorType === 'ExclusiveClusterSetLabel') return (labels) => label(labels, CLUSTER_SET_LABEL) === metadata.name;
  if (selectorType !== 'LabelSelector' || !labelSelector) return nobody;
  const compiled = compileSelector(labelSelector, 'spec.clusterSelector.labelSelector');
  return 'problem' in compiled ? nobody : compiled.matches;
}

/** Why a cluster cannot be used from a namespace, and what to do. */
export const notBound = (cluster: string, namespace: string) => ({
  says: `cluster ${cluster} is in no cluster set that is bound to namespace ${namespace}`,
  fix: `have the set of the cluster bound by a ManagedClusterSetBinding in namespace ${namespace}, or take another cluster`,
});

/** Why no cluster at all can be used from a namespace, and what to do. */
export const nothingBound = (namespace: string): string =>
  `no cluster set that has clusters is bound to namespace ${namespace}; have one bound by a ManagedClusterSetBinding there`;
