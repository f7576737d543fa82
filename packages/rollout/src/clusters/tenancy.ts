/** What the upgrades of one namespace may reach on a hub that keeps tenants apart (`--tenancy`). Pure. */
import { CLUSTER_SET_LABEL, type ManagedCluster, type ManagedClusterSet, type ManagedClusterSetBinding } from '@flotilla/api/ocm';
import { compileSelector, label, type Matcher } from './label-selector.ts';

/** One namespace and its clusters. */
export interface Tenancy {
  readonly namespace: string;
  /** The cluster is in a set that is bound to the namespace. */
  readonly reaches: (cluster: ManagedCluster) => boolean;
}

/**
 * The clusters that the bindings of a namespace let it use, as a Placement there would see them (spec/ocm 2.3). What is being deleted,
 * a set that does not exist, and a selector that cannot be read give nothing.
 */
export function judgeTenancy(
  namespace: string,
  bindings: readonly ManagedClusterSetBinding[],
  set: (name: string) => ManagedClusterSet | undefined,
): Tenancy {
  const matchers = bindings.flatMap(({ metadata, spec }) => {
    const bound = metadata.deletionTimestamp === undefined && spec?.clusterSet ? set(spec.clusterSet) : undefined;
    return bound && bound.metadata.deletionTimestamp === undefined ? [compileSet(bound)] : [];
  });
  return { namespace, reaches: ({ metadata }) => matchers.some((matches) => matches(metadata.labels ?? {})) };
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
export const notBound = (cluster: string, namespace: string): string =>
  `cluster ${cluster} is in no cluster set that is bound to namespace ${namespace}; have the set of the cluster bound by a ManagedClusterSetBinding in namespace ${namespace}, or take another cluster`;

/** Why no cluster at all can be used from a namespace, and what to do. */
export const nothingBound = (namespace: string): string =>
  `no cluster set that has clusters is bound to namespace ${namespace}; have one bound by a ManagedClusterSetBinding there`;
