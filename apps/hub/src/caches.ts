/** Every watch of the hub: its selector, what is kept of its objects, and by what they are found. */
import { type KubeObject, Label, type Resource, refKey } from '@flotilla/api';
import { ConfigMap, Lease, Namespace } from '@flotilla/api/core';
import {
  AGENT_LEASE,
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterSet,
  ManagedClusterSetBinding,
  ManagedClusterView,
  ManifestWork,
  ManifestWorkReplicaSet,
  Placement,
  PlacementBinding,
  PlacementDecision,
  Policy,
} from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, FleetLimitsName, OVERRIDES_CONFIG_MAP, PreCachingConfig } from '@flotilla/api/ran';
import {
  actionIndexValue,
  blockingRefs,
  CHILD_POLICIES,
  NAME_LABEL,
  PLACEMENT_APP,
  placementOf,
  trimChild,
  trimPlacement,
  trimRolloutView,
  trimWork,
  upgradeIndexOf,
  upgradeIndexValue,
} from '@flotilla/rollout';
import { type Client, type Logger, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import {
  trimAccess,
  trimAction,
  trimDecision,
  trimJobWork,
  trimLease,
  trimReport,
  trimTemplate,
  trimView,
  withWholeStatus,
} from './trims.ts';

/** Index of upgrades by uid. */
export const BY_UID = 'uid';
/** Index of upgrades by the labels of their hub objects (`upgradeIndexValue`). */
export const BY_LABELS = 'labels';
/** Index of upgrades by the names of their policies: those of the spec, and those of a running rollout, which outlive an edit of the spec. */
export const BY_POLICY = 'policy';
/** Index of upgrades by `namespace/name` of their blocking upgrades. */
export const BY_BLOCKER = 'blocker';
/** Index of upgrades that have not ended: `yes`. */
export const BY_OPEN = 'open';
/** Index of ManagedClusters by their label `name`, by which the Placements of upgrades select. */
export const BY_NAME_LABEL = 'name-label';
/** Index of actions, views and works of jobs by `spokeKey`. */
export const BY_SPOKE = 'spoke';
/** Index of actions, views and works of jobs by `work/cluster`. */
export const BY_WORK_AND_CLUSTER = 'work-and-cluster';
/** Index of actions, views and works of jobs by `work/upgradeUid`. */
export const BY_WORK_AND_UPGRADE = 'work-and-upgrade';
/** Index of actions, views and works of rollouts by their upgrade's uid and by `upgradeIndexValue`: those of the reference have no uid, those of an upgrade that was lost another one than its restored one. */
export const BY_UPGRADE = 'upgrade';
/** Index of objects by their cluster: copies of policies, access, and actions, views and works of rollouts. */
export const BY_CLUSTER = 'cluster';
/** Index of upgrades' Placements and PlacementBindings by the labels that name their upgrade (`upgradeIndexValue`). */
export const BY_UPGRADE_NAME = 'upgrade-name';
/** Index of PlacementDecisions by `namespace/name` of the Placement in their label, by which the propagator reads them, too. */
export const BY_PLACEMENT = 'placement';
/** Index of root policies by their name, in whichever namespace. */
export const BY_NAME = 'name';
/** Index of objects by their namespace: bindings of cluster sets, and PlacementBindings of policies' authors. */
export const BY_NAMESPACE = 'namespace';

/** Values of `flotilla.io/work` on the actions, views and works of jobs. */
const SPOKE_JOBS = ['precache', 'backup', 'pins'];
/** True for an object of a job; others with the label of an upgrade belong to its rollout. */
export const isOfJob = ({ metadata }: KubeObject): boolean => SPOKE_JOBS.includes(metadata.labels?.[Label.work] ?? '');
/** The job that removes pins: it has the place of a pre-cache on the spoke. */
export const PINS_WORK = 'pins';

/** Value of `flotilla.io/work` on all access objects of a spoke. */
export const REGISTRATION = 'registration';

/** Key of one spoke's part of one upgrade. */
export const spokeKey = (work: string, upgradeUid: string, cluster: string): string => `${work}/${upgradeUid}/${cluster}`;

/** True for a Placement or PlacementBinding of an upgrade; those of policies' authors tell for which clusters a policy is meant. */
export const isOfUpgrade = ({ metadata }: KubeObject): boolean => metadata.labels?.[Label.app] === PLACEMENT_APP;

/** Name of the cluster that an access object is for. */
export const clusterOf = ({ metadata }: KubeObject): string => metadata.labels?.[Label.clusterName] ?? '';

const workOf = ({ metadata }: KubeObject): string => metadata.labels?.[Label.work] ?? '';
const uidOf = ({ metadata }: KubeObject): string => metadata.labels?.[Label.upgradeUid] ?? '';
const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? '';
const only = (isMeant: (object: KubeObject) => boolean, key: (object: KubeObject) => string) => (object: KubeObject) =>
  isMeant(object) ? [key(object)] : [];
const isOfRollout = (object: KubeObject): boolean => !isOfJob(object);
const isOfAuthor = (object: KubeObject): boolean => !isOfUpgrade(object);

/** The one label of our actions may be of two upgrades, `a-b` of `c` and `b-c` of `a`: they go by their uid alone. */
const ownersOf = (object: KubeObject): string[] => {
  const uid = uidOf(object);
  if (uid === '') return [upgradeIndexOf(object)];
  return object.metadata.labels?.[Label.upgradeNamespace] === undefined ? [uid] : [uid, upgradeIndexOf(object)];
};

/** Actions, views and works have the same indexes. */
const transportIndexes = {
  [BY_SPOKE]: only(isOfJob, (object) => spokeKey(workOf(object), uidOf(object), namespaceOf(object))),
  [BY_WORK_AND_CLUSTER]: only(isOfJob, (object) => `${workOf(object)}/${namespaceOf(object)}`),
  [BY_WORK_AND_UPGRADE]: only(isOfJob, (object) => `${workOf(object)}/${uidOf(object)}`),
  [BY_CLUSTER]: only(isOfRollout, namespaceOf),
  [BY_UPGRADE]: (object: KubeObject) => (isOfRollout(object) ? ownersOf(object) : []),
};

/**
 * Creates the watches of steps, for every process that runs them. A hub may lack the kinds of transports and templates.
 * @param tenancy watch the reach of each namespace too; a hub without the kinds lets no namespace reach any cluster
 * @param registers keep the clusters' reports: registration trims them
 */
export function createWorkerCaches(client: Client, shared: WatchSurroundings, tenancy = false, registers = false) {
  const optional = { ...shared, optional: true };
  // The reference's label selects what the reference began, too.
  const transport = { ...optional, labelSelector: Label.upgradeName, indexes: transportIndexes };
  return {
    upgrades: new WatchCache(client, ClusterGroupUpgrade, {
      ...shared,
      transform: withWholeStatus,
      indexes: {
        [BY_UID]: ({ metadata }: ClusterGroupUpgrade) => [metadata.uid ?? ''],
        [BY_LABELS]: ({ metadata: { namespace = '', name } }: ClusterGroupUpgrade) => [
          upgradeIndexValue({ namespace, name }),
          actionIndexValue({ namespace, name }),
        ],
        [BY_POLICY]: ({ spec, status }: ClusterGroupUpgrade) => [
          ...new Set([...(spec?.managedPolicies ?? []), ...(status?.managedPoliciesForUpgrade ?? []).map(({ name }) => name)]),
        ],
        [BY_BLOCKER]: (upgrade: ClusterGroupUpgrade) => blockingRefs(upgrade).map(refKey),
        [BY_OPEN]: ({ status }: ClusterGroupUpgrade) => (status?.status.completedAt ? [] : ['yes']),
      },
    }),
    // An API server that has lost the kind must not look like an empty fleet: that would revoke every agent.
    clusters: new WatchCache(client, ManagedCluster, {
      ...shared,
      optional: 'until-served',
      ...(!registers && { transform: trimReport }),
      indexes: { [BY_NAME_LABEL]: ({ metadata }: ManagedCluster) => [metadata.labels?.[NAME_LABEL] ?? ''] },
    }),
    configs: new WatchCache(client, PreCachingConfig, shared),
    views: new WatchCache(client, ManagedClusterView, {
      ...transport,
      transform: (view) => (isOfJob(view) ? trimView(view) : trimRolloutView(view)),
    }),
    actions: new WatchCache(client, ManagedClusterAction, { ...transport, transform: trimAction }),
    works: new WatchCache(client, ManifestWork, {
      ...transport,
      transform: (work) => (isOfJob(work) ? trimJobWork(work) : trimWork(work)),
    }),
    templates: new WatchCache(client, ManifestWorkReplicaSet, { ...optional, transform: trimTemplate }),
    ...(tenancy && {
      clusterSets: new WatchCache(client, ManagedClusterSet, optional),
      clusterSetBindings: new WatchCache(client, ManagedClusterSetBinding, {
        ...optional,
        indexes: { [BY_NAMESPACE]: (binding: ManagedClusterSetBinding) => [namespaceOf(binding)] },
      }),
    }),
  };
}

/**
 * Creates all watches of the leader. A hub without the policy framework has none of its kinds. Roots of policies and their copies are two caches: a
 * copy changes with its cluster's compliance, which concerns no reader of roots.
 * @param tenancy as for workers
 * @param namespace of this hub, where the limits of the fleet are
 */
export function createCaches(client: Client, shared: WatchSurroundings, tenancy = false, registers = false, namespace = 'default') {
  const optional = { ...shared, optional: true };
  const byUpgrade = { [BY_UPGRADE_NAME]: only(isOfUpgrade, upgradeIndexOf) };
  return {
    ...createWorkerCaches(client, shared, tenancy, registers),
    placements: new WatchCache(client, Placement, {
      ...optional,
      transform: (placement) => (isOfUpgrade(placement) ? placement : trimPlacement(placement)),
      indexes: byUpgrade,
    }),
    bindings: new WatchCache(client, PlacementBinding, {
      ...optional,
      indexes: { ...byUpgrade, [BY_NAMESPACE]: only(isOfAuthor, namespaceOf) },
    }),
    // Labels of decisions do not tell those of upgrades.
    decisions: new WatchCache(client, PlacementDecision, {
      ...optional,
      labelSelector: Label.placement,
      transform: trimDecision,
      indexes: { [BY_PLACEMENT]: (decision: PlacementDecision) => [refKey(placementOf(decision))] },
    }),
    limits: createLimitsCache(client, shared, namespace),
    overrides: new WatchCache(client, ConfigMap, { ...shared, fieldSelector: `metadata.name=${OVERRIDES_CONFIG_MAP}` }),
    parents: new WatchCache(client, Policy, {
      ...optional,
      labelSelector: `!${CHILD_POLICIES}`,
      indexes: { [BY_NAME]: ({ metadata }: Policy) => [metadata.name] },
    }),
    children: new WatchCache(client, Policy, {
      ...optional,
      labelSelector: CHILD_POLICIES,
      transform: trimChild,
      indexes: { [BY_CLUSTER]: (policy: Policy) => [namespaceOf(policy)] },
    }),
  };
}

/** Creates the watch of the limits of the fleet. @param namespace of this hub */
export const createLimitsCache = (client: Client, shared: WatchSurroundings, namespace: string) =>
  new WatchCache(client, ConfigMap, { ...shared, namespace, fieldSelector: `metadata.name=${FleetLimitsName.configMap}` });

/** Rule by which registration knows the access objects of its clusters. */
interface AccessRule {
  readonly kinds: readonly Resource[];
  /** True for an object of these kinds, or a Namespace, that is as it has to be. */
  readonly isAsWanted: (kind: Resource, object: KubeObject) => boolean;
}

/**
 * Creates the watches of registration, each over all clusters. At 3,500 clusters leases are renewed 58 times a second; a renewal calls no listener and
 * only replaces a small object in a map.
 */
export function createRegistrationCaches(client: Client, shared: WatchSurroundings, { kinds, isAsWanted }: AccessRule) {
  const trimmed = (kind: Resource) => (object: KubeObject) => trimAccess(object, isAsWanted(kind, object));
  const access = kinds.map((kind) => {
    const labelSelector = `${Label.work}=${REGISTRATION}`;
    const indexes = { [BY_CLUSTER]: (object: KubeObject) => [clusterOf(object)] };
    return [kind.plural, new WatchCache(client, kind, { ...shared, labelSelector, indexes, transform: trimmed(kind) })] as const;
  });
  return {
    namespaces: new WatchCache<KubeObject>(client, Namespace, {
      ...shared,
      labelSelector: Label.clusterName,
      transform: trimmed(Namespace),
    }),
    /** Access objects by the plural of their kind, trimmed to their correctness. */
    access: new Map(access),
    leases: new WatchCache(client, Lease, { ...shared, fieldSelector: `metadata.name=${AGENT_LEASE}`, transform: trimLease }),
  };
}

type WorkerCaches = ReturnType<typeof createWorkerCaches>;
/** Watches of a leader. A room takes what it reads of them. */
export type HubCaches = ReturnType<typeof createCaches>;
/** Watches of registration besides the ManagedClusters. */
export type RegistrationCaches = ReturnType<typeof createRegistrationCaches>;
/** Watches of what carries work to spokes. */
export type TransportCaches = Pick<WorkerCaches, 'views' | 'actions' | 'works'>;
/** Watches that a step of a job reads; it reads nothing else. */
export type SpokeJobCaches = TransportCaches & Pick<WorkerCaches, 'clusters' | 'upgrades'>;
/** Watches of cluster sets; absent ones let every namespace reach everything. */
export type TenancyCaches = Pick<WorkerCaches, 'clusterSets' | 'clusterSetBindings'>;
/** Watches that a rollout's step of a spoke reads; it reads nothing else. */
export type SpokeCaches = TenancyCaches & SpokeJobCaches & Pick<WorkerCaches, 'templates'>;

/** Watches that a rollout reads. */
export type RolloutCaches = SpokeCaches & Pick<HubCaches, 'placements' | 'bindings' | 'decisions' | 'parents' | 'children'>;

/** Starts the watches and waits for the first list of each. */
export async function fillCaches(caches: WorkerCaches, logger: Logger, signal: AbortSignal): Promise<void> {
  for (const cache of Object.values(caches)) cache.start(signal);
  await Promise.all(Object.values(caches).map((cache) => cache.synced()));
  logger.info({ upgrades: caches.upgrades.size, clusters: caches.clusters.size, views: caches.views.size }, 'Caches are filled');
}
