/** Placements and PlacementBindings of an upgrade: what they must be, and what is to be written for it (spec/talm 2.8). Pure. */
import { Annotation, findCondition, isJsonObject, type KubeObject, Label, mergePatch, type Resource } from '@flotilla/api';
import { PLACEMENT_SATISFIED, Placement, PlacementBinding } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { indexOf } from '../batches/cluster-machine.ts';
import { NAME_LABEL } from '../clusters/managed-cluster.ts';
import { findPause } from '../gates/pause.ts';
import { labelValue, type UpgradeRef } from '../upgrade/identity.ts';
import { deletionOf, type HubWrite, type PolicyRef, ProgressState, RecordState } from '../upgrade/model.ts';
import { desiredPlacementName, placementName, safeNameKey } from '../upgrade/safe-names.ts';
import { isEnding, isRunning } from '../upgrade/stage.ts';

/** Value of label `app` on Placements and PlacementBindings of upgrades. */
export const PLACEMENT_APP = 'openshift-cluster-group-upgrades';

/** Objects of an upgrade in the caches, found by its labels. */
export interface PlacementObjects {
  readonly placements: readonly Placement[];
  readonly bindings: readonly PlacementBinding[];
  /** Clusters in the PlacementDecisions of a Placement; undefined: the API server serves no decisions. */
  readonly decided: (placement: Placement) => ReadonlySet<string> | undefined;
  /** A ManagedCluster of another name has this name in the label by which Placements select. */
  readonly hasNamesake: (cluster: string) => boolean;
  /** Name Placements, write one without clusters, and bind without decisions, as the reference does; default false. */
  readonly talmStrict?: boolean | undefined;
}

/** Value of an index of Placements and PlacementBindings: the labels that name their upgrade. */
export const upgradeIndexValue = ({ namespace, name }: UpgradeRef): string => `${labelValue(namespace)}/${labelValue(name)}`;

/** The same value, from an object. */
export const upgradeIndexOf = ({ metadata }: KubeObject): string =>
  `${metadata.labels?.[Label.upgradeNamespace] ?? ''}/${metadata.labels?.[Label.upgradeName] ?? ''}`;

/** Names of the objects of these policies, as the status holds them. @param talmStrict the reference's names */
export function placementNames(upgrade: ClusterGroupUpgrade, policies: readonly PolicyRef[], talmStrict = false) {
  const { name } = upgrade.metadata;
  const named = policies.map((policy) => {
    const desired = desiredPlacementName(name, policy.name);
    return { key: safeNameKey(desired, policy.namespace), actual: placementName(upgrade, policy, talmStrict) };
  });
  const actual = named.map((each) => each.actual).toSorted();
  return {
    safeResourceNames: Object.fromEntries(named.map((each) => [each.key, each.actual])),
    placements: actual,
    placementBindings: actual,
  };
}

/**
 * Plans the writes that leave the upgrade one Placement for each policy of its stored status, and one PlacementBinding where the decisions allow it.
 * A Placement selects the clusters that its policy is enforced on. Empty when all is so. For an upgrade that is to have none, pass none.
 */
export function planPlacements(upgrade: ClusterGroupUpgrade, policies: readonly PolicyRef[], existing: PlacementObjects): HubWrite[] {
  const writes: HubWrite[] = [];
  const wanted = new Set<string>();
  for (const [index, policy] of policies.entries()) {
    const name = placementName(upgrade, policy, existing.talmStrict);
    writes.push(...planPolicy(upgrade, { policy, index, name }, existing));
    wanted.add(`${policy.namespace}/${name}`);
  }
  const bound = boundPlacements(existing.bindings);
  for (const placement of existing.placements)
    if (!bound.has(`${placement.metadata.namespace}/${placement.metadata.name}`)) writes.push(...planRemoval(Placement, placement, wanted));
  for (const binding of existing.bindings) writes.push(...planRemoval(PlacementBinding, binding, wanted));
  return writes;
}

/** Policy of an upgrade, and the name of its two objects. */
interface Placed {
  readonly policy: PolicyRef;
  readonly index: number;
  readonly name: string;
}

/**
 * Plans one policy: the Placement alone while it is not bound, the binding once the decisions allow it. A binding that may not stay goes before
 * anything else changes, so that the propagator finds the clusters that it enforced in the decisions.
 */
function planPolicy(upgrade: ClusterGroupUpgrade, { policy, index, name }: Placed, existing: PlacementObjects): HubWrite[] {
  const { talmStrict } = existing;
  const isIt = ({ metadata }: KubeObject) => metadata.name === name && metadata.namespace === policy.namespace;
  const placement = existing.placements.find(isIt);
  const binding = existing.bindings.find(isIt);
  const isStopped = !talmStrict && findPause(upgrade)?.stops === true;
  const members = isStopped ? [] : membership(upgrade, index, placement);
  const matchExpressions = expressionsFor(members, talmStrict);
  const placing = planObject(Placement, desiredPlacement(upgrade, policy, { name, matchExpressions }), placement);
  const binds = () => planObject(PlacementBinding, desiredBinding(upgrade, policy, name), binding);
  // A Placement that is kept at the end stays bound, and is emptied.
  if (talmStrict || isEnding(upgrade)) return [...placing, ...binds()];
  const isThere = placement !== undefined && placement.metadata.deletionTimestamp === undefined;
  const choice = {
    members,
    selected: selectedBy(placement),
    decided: isThere ? existing.decided(placement) : new Set<string>(),
    left: leftOf(upgrade),
    hasNamesake: existing.hasNamesake,
  };
  if (binding) {
    if (binding.metadata.deletionTimestamp !== undefined || waitsForDecisions(choice)) return [];
    return isThere && mayStayBound(choice) ? [...placing, ...binds()] : [deletionOf(PlacementBinding, binding)];
  }
  return placing.length === 0 && isThere && mayBind(choice, placement) ? binds() : placing;
}

/**
 * Placements that stay until their bindings are gone: the propagator asks the Placement of a deleted binding whose copies to look at
 * again. Without it nobody's is, and the policy stays enforced on the clusters of the last batch.
 */
const boundPlacements = (bindings: readonly PlacementBinding[]): ReadonlySet<string> =>
  new Set(
    bindings
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata, placementRef }) => `${metadata.namespace}/${placementRef?.name}`),
  );

/**
 * Clusters of the current batch that are at the policy now, and those that were and still are there: who is done with a policy keeps
 * it enforced until the batch ends. A cluster that has timed out or failed leaves.
 */
function membership(upgrade: ClusterGroupUpgrade, index: number, existing: Placement | undefined): string[] {
  if (!isRunning(upgrade)) return [];
  const { status } = upgrade;
  const left = leftOf(upgrade);
  const present = new Set(selectedBy(existing));
  return Object.entries(status?.status.currentBatchRemediationProgress ?? {})
    .filter(([cluster, progress]) => {
      if (left.has(cluster)) return false;
      return present.has(cluster) || (progress.state === ProgressState.inProgress && indexOf(progress, 'policy') === index);
    })
    .map(([cluster]) => cluster)
    .toSorted();
}

/** Clusters whose part has ended without success. */
const leftOf = ({ status }: ClusterGroupUpgrade): ReadonlySet<string> =>
  new Set((status?.clusters ?? []).filter(({ state }) => state !== RecordState.complete).map(({ name }) => name));

/** Clusters a Placement of ours selects. */
export const selectedBy = (placement: Placement | undefined): readonly string[] =>
  placement?.spec?.predicates?.[0]?.requiredClusterSelector?.labelSelector?.matchExpressions?.[0]?.values ?? [];

/**
 * Selects these clusters. Without any a selector that is valid and that nobody can match; the reference's `In` without values is an error to
 * the placement controller, tried again for hours.
 */
function expressionsFor(clusters: readonly string[], talmStrict = false): readonly object[] {
  const key = NAME_LABEL;
  if (clusters.length > 0) return [{ key, operator: 'In', values: clusters }];
  return talmStrict ? [{ key, operator: 'In' }] : ['Exists', 'DoesNotExist'].map((operator) => ({ key, operator }));
}

function desiredPlacement(
  upgrade: ClusterGroupUpgrade,
  policy: PolicyRef,
  { name, matchExpressions }: { name: string; matchExpressions: readonly object[] },
): KubeObject {
  return {
    apiVersion: Placement.apiVersion,
    kind: Placement.kind,
    metadata: metadataOf(upgrade, policy, name, { [Label.forPolicy]: labelValue(policy.name) }),
    spec: {
      predicates: [{ requiredClusterSelector: { labelSelector: { matchExpressions } } }],
      tolerations: [
        { key: 'cluster.open-cluster-management.io/unavailable', operator: 'Exists' },
        { key: 'cluster.open-cluster-management.io/unreachable', operator: 'Exists' },
      ],
    },
  };
}

const desiredBinding = (upgrade: ClusterGroupUpgrade, policy: PolicyRef, name: string): KubeObject => ({
  apiVersion: PlacementBinding.apiVersion,
  kind: PlacementBinding.kind,
  metadata: metadataOf(upgrade, policy, name, {}),
  bindingOverrides: { remediationAction: 'enforce' },
  placementRef: { apiGroup: 'cluster.open-cluster-management.io', kind: Placement.kind, name },
  subFilter: 'restricted',
  subjects: [{ apiGroup: 'policy.open-cluster-management.io', kind: 'Policy', name: policy.name }],
});

const metadataOf = ({ metadata }: ClusterGroupUpgrade, policy: PolicyRef, name: string, more: Readonly<Record<string, string>>) => ({
  name,
  namespace: policy.namespace,
  labels: {
    [Label.app]: PLACEMENT_APP,
    [Label.upgradeName]: labelValue(metadata.name),
    [Label.upgradeNamespace]: labelValue(metadata.namespace ?? ''),
    ...more,
    [Label.excludeFromBackup]: 'true',
  },
  annotations: { [Annotation.resourceName]: safeNameKey(desiredPlacementName(metadata.name, policy.name), policy.namespace) },
});

/** Creates, or mends what differs from what we want; fields we say nothing about stay, but those that would narrow the selection. */
function planObject(kind: Resource, desired: KubeObject, existing: KubeObject | undefined): HubWrite[] {
  if (!existing) return [{ verb: 'create', kind, object: desired }];
  // Created again once the cache has seen it go.
  if (existing.metadata.deletionTimestamp !== undefined) return [];
  const { namespace, name, labels, annotations, resourceVersion } = existing.metadata;
  const { metadata, apiVersion: _, kind: __, ...body } = desired;
  const current: Record<string, unknown> = { labels, annotations };
  const wanted: Record<string, unknown> = {
    labels: { ...labels, ...metadata.labels },
    annotations: { ...annotations, ...metadata.annotations },
  };
  const changes = mergePatch(current, wanted);
  const patch: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(body)) {
    const change = field === 'spec' ? patchSpec(existing.spec, value) : mergePatch(existing[field], value);
    if (change !== undefined) patch[field] = change;
  }
  if (changes === undefined && Object.keys(patch).length === 0) return [];
  // The version guards a membership that another process has changed since.
  return [
    {
      verb: 'patch',
      kind,
      ref: { namespace, name },
      patch: { metadata: { resourceVersion, ...(isJsonObject(changes) && changes) }, ...patch },
    },
  ];
}

function patchSpec(current: unknown, desired: unknown): unknown {
  if (!isJsonObject(current) || !isJsonObject(desired)) return mergePatch(current, desired);
  const narrowing: Record<string, unknown> = { clusterSets: undefined, numberOfClusters: undefined };
  return mergePatch(current, { ...current, ...narrowing, ...desired });
}

const planRemoval = (kind: Resource, object: KubeObject, wanted: ReadonlySet<string>): HubWrite[] =>
  wanted.has(`${object.metadata.namespace}/${object.metadata.name}`) || object.metadata.deletionTimestamp !== undefined
    ? []
    : [deletionOf(kind, object)];

/** A Placement of an upgrade beside what was decided for it. */
interface Choice {
  /** Clusters that it shall select. */
  readonly members: readonly string[];
  /** Clusters that it selects. */
  readonly selected: readonly string[];
  /** Clusters in its PlacementDecisions; undefined: the API server serves none. */
  readonly decided: ReadonlySet<string> | undefined;
  /** Clusters of the upgrade whose part has ended without success; a decision may hold them for a moment longer. */
  readonly left: ReadonlySet<string>;
  /** Another ManagedCluster has this name in the label that Placements select by. */
  readonly hasNamesake: (cluster: string) => boolean;
}

/** True while a cluster would join a bound Placement, and nobody can see which clusters are chosen for it. */
const waitsForDecisions = ({ members, selected, decided }: Choice): boolean =>
  decided === undefined && members.some((cluster) => !selected.includes(cluster)) && members.some((cluster) => selected.includes(cluster));

/**
 * True while a binding may stay. A change of all members takes it away first. A new member joins a bound Placement only if no other cluster answers to
 * its name.
 */
function mayStayBound({ members, selected, decided, left, hasNamesake }: Choice): boolean {
  const before = new Set(selected);
  if (!members.some((cluster) => before.has(cluster))) return false;
  if (members.some((cluster) => !before.has(cluster) && hasNamesake(cluster))) return false;
  return [...(decided ?? [])].every((cluster) => before.has(cluster) || left.has(cluster));
}

/**
 * True when the decisions are exactly the members. Members that the controller has refused delay nobody else: the others are bound once its status
 * counts as many clusters as its decisions have, and no other cluster answers to a missing name.
 */
function mayBind({ members, decided, hasNamesake }: Choice, placement: Placement): boolean {
  if (!decided || decided.size === 0) return false;
  const wanted = new Set(members);
  if (![...decided].every((cluster) => wanted.has(cluster))) return false;
  const missing = members.filter((cluster) => !decided.has(cluster));
  return missing.length === 0 || (isSettled(placement, decided.size) && !missing.some(hasNamesake));
}

const isSettled = ({ status }: Placement, decided: number): boolean =>
  status?.numberOfSelectedClusters === decided && findCondition(status.conditions, PLACEMENT_SATISFIED)?.status === 'True';
