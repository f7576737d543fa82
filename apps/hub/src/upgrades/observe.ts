import { Annotation } from '@flotilla/api';
import type { ManagedCluster, ManifestWork } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, OVERRIDES_CONFIG_MAP } from '@flotilla/api/ran';
import {
  areEditsApplied,
  desiredWorkName,
  findAway,
  findClosedHours,
  findHold,
  findPause,
  isAvailable,
  isOurs,
  judgePlacements,
  keepsObjects,
  manifestWorkMode,
  notBound,
  type ObservedUpgrade,
  type PolicyRef,
  pauseWait,
  policyMode,
  type RolloutMode,
  type RolloutObservation,
  readMeant,
  resourceName,
  type Sightings,
  type Tenancy,
  templatesOf,
  upgradeIndexValue,
  type Wait,
} from '@flotilla/rollout';
import type { Change, WatchCache } from '@flotilla/runtime';
import { BY_CLUSTER, BY_NAME, BY_UPGRADE_NAME, type HubCaches, isOfJob, type RolloutCaches, type TenancyCaches } from '../caches.ts';
import { decidedBy, tenancyOf, waysFrom } from '../lookups.ts';
import { findDenial } from '../spokes/transports/cluster.ts';

/** Watches that decide about a ClusterGroupUpgrade. */
export type UpgradeCaches = TenancyCaches &
  Pick<
    HubCaches,
    'upgrades' | 'clusters' | 'configs' | 'overrides' | 'parents' | 'children' | 'templates' | 'placements' | 'bindings' | 'decisions'
  >;

/** Gathers the facts about one upgrade. @param now milliseconds since the epoch */
export function observeUpgrade(upgrade: ClusterGroupUpgrade, caches: UpgradeCaches, now: number): ObservedUpgrade {
  const namespace = upgrade.metadata.namespace ?? '';
  const ref = upgrade.spec?.preCachingConfigRef;
  const tenancy = tenancyOf(namespace, caches);
  const configNamespace = ref?.namespace || namespace;
  const mayRead = tenancy === undefined || configNamespace === namespace;
  return {
    upgrade,
    managed: caches.clusters.list(),
    childrenOf: (clusters) => clusters.flatMap((cluster) => caches.children.byIndex(BY_CLUSTER, cluster)),
    parent: (ns, name) => caches.parents.get({ namespace: ns, name }),
    policiesNamed: (name) => caches.parents.byIndex(BY_NAME, name),
    ways: waysFrom(caches, (name) => caches.clusters.get({ name }), now),
    tenancy,
    config: ref?.name && mayRead ? caches.configs.get({ namespace: configNamespace, name: ref.name }) : undefined,
    overrides: caches.overrides.get({ namespace, name: OVERRIDES_CONFIG_MAP }),
    template: (name) => caches.templates.get({ namespace, name }),
    servesPolicies: servesPolicies(caches),
    servesDecisions: caches.decisions.present,
    servesClusters: caches.clusters.present,
    upgradeAt: (blocker) => caches.upgrades.get(blocker),
  };
}

/** True when the API server serves the policy framework; nothing can be enforced without it. */
export const servesPolicies = ({ parents, placements }: Pick<UpgradeCaches, 'parents' | 'placements'>): boolean =>
  parents.present && placements.present;

/**
 * ManagedClusters that were seen to be deleted, or held when they went: nobody waits for them. A hub that starts later has not seen it, and waits for a
 * cluster that is gone as for one that is not restored yet.
 */
export class Departures {
  readonly #names = new Set<string>();

  constructor(clusters: Pick<WatchCache<ManagedCluster>, 'list' | 'subscribe'>) {
    for (const object of clusters.list()) this.#note({ type: 'set', object });
    clusters.subscribe((change) => this.#note(change));
  }

  has(cluster: string): boolean {
    return this.#names.has(cluster);
  }

  #note({ type, object: { metadata } }: Pick<Change<ManagedCluster>, 'type' | 'object'>): void {
    const { name, deletionTimestamp, annotations } = metadata;
    const wasHeld = type === 'deleted' && annotations?.[Annotation.hold] !== undefined;
    if (deletionTimestamp !== undefined || wasHeld) this.#names.add(name);
    else if (type === 'set') this.#names.delete(name);
  }
}

/** Surroundings of an observation besides the caches. */
interface ObserveDeps {
  /** Lasting errors of steps. */
  readonly problem: RolloutObservation['problem'];
  /** First sightings of facts about the upgrade. */
  readonly sightings: Sightings;
  readonly talmStrict: boolean;
  /** Clusters and policies that the upgrade may reach; absent: all. */
  readonly tenancy: Tenancy | undefined;
  /** A template is not what the rollout began with: nobody further gets it. */
  readonly otherVersion?: Wait | undefined;
  /** The absent cluster was seen to leave, or is not to be waited for. */
  readonly hasLeft: (cluster: string) => boolean;
  /** Why a cluster must not begin before what it has is proven; absent: nothing is to be proven. */
  readonly unproven?: ((cluster: string) => Wait | undefined) | undefined;
  /** Why a member that was imported again does not begin; absent: there are none. */
  readonly newcomer?:
    | ((cluster: string, facts: { readonly isPrepared: boolean; readonly hasWork: boolean }) => Wait | undefined)
    | undefined;
  readonly place?: RolloutObservation['place'];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Gathers the facts of one reconcile of a running rollout, from caches alone.
 * @param upgrade with the status the rollout runs by
 */
export function observeRollout(upgrade: ClusterGroupUpgrade, caches: RolloutCaches, deps: ObserveDeps): RolloutObservation {
  const { problem, talmStrict, tenancy, sightings, now } = deps;
  const { actions } = upgrade.spec ?? {};
  const decidingLabels = tenancy?.decidingLabels;
  const { otherVersion } = deps;
  // A cluster whose work is there goes on with the version that it has.
  const hasWork = (cluster: string) => isAtWork(upgrade, caches, cluster);
  const find = (name: string) => {
    const cluster = caches.clusters.get({ name });
    return cluster?.metadata.deletionTimestamp === undefined ? cluster : undefined;
  };
  const mode = modeOf(upgrade, caches, { ...deps, find });
  const nameLabel = mode.kind === 'policy';
  const { namespace = '', name } = upgrade.metadata;
  const placements = nameLabel ? caches.placements.byIndex(BY_UPGRADE_NAME, upgradeIndexValue({ namespace, name })) : [];
  const isPrepared = (cluster: string): boolean => {
    const managed = find(cluster);
    return managed === undefined || areEditsApplied(managed, actions?.beforeEnable, { nameLabel, decidingLabels });
  };
  // Works that are kept at the end are never removed.
  const isLeft = (cluster: string) => !keepsObjects(upgrade) && hasWork(cluster);
  const planned = new Set((upgrade.status?.remediationPlan ?? []).flat());
  const placement = judgePlacements(placements, {
    cluster: find,
    decided: decidedBy(caches),
    isPlanned: (cluster) => planned.has(cluster),
    talmStrict,
    sightings,
    now,
  });
  const pause = talmStrict ? undefined : findPause(upgrade);
  const paused = pause && pauseWait(upgrade, pause);
  return {
    mode,
    exists: (cluster) => find(cluster) !== undefined,
    ...(!talmStrict && { hasLeft: deps.hasLeft }),
    isAvailable: (cluster) => isAvailable(find(cluster)),
    ...(!talmStrict && { away: (cluster: string) => findAway(cluster, find(cluster)) }),
    forbids: (cluster) => {
      const managed = find(cluster);
      const bar = (talmStrict ? undefined : paused) ?? findBar(managed, { talmStrict, tenancy, namespace, now });
      if (bar !== undefined) return bar;
      return deps.unproven?.(cluster) ?? deps.newcomer?.(cluster, { isPrepared: isPrepared(cluster), hasWork: isLeft(cluster) });
    },
    place: deps.place,
    isPrepared,
    isEdited: (cluster) => {
      const managed = find(cluster);
      return managed === undefined || areEditsApplied(managed, actions?.afterCompletion, { decidingLabels });
    },
    placementProblem: placement.problem,
    unplaced: placement.unplaced,
    surplus: placement.surplus,
    lookAt: placement.lookAt,
    problem: (cluster) => {
      const denial = cluster === undefined || talmStrict ? undefined : findDenial(find(cluster));
      return denial === undefined ? problem(cluster) : { message: denial.says, wait: denial, isRefused: false };
    },
    wait: (cluster) => {
      const goesOn = cluster !== undefined && !nameLabel && hasWork(cluster);
      // A stop enforces policies no more, also where one has begun, and creates no further work.
      if (pause?.stops && cluster !== undefined && !goesOn) return paused;
      return goesOn ? undefined : otherVersion;
    },
    // The reference ignores drift.
    ...(!talmStrict && { drift: driftOf(sightings) }),
  };
}

/** Says why nothing of any upgrade of a namespace is begun on a cluster now: a hold, hours of its own, or a set that is not bound. */
export function findBar(
  cluster: ManagedCluster | undefined,
  { talmStrict, tenancy, namespace, now }: Pick<ObserveDeps, 'talmStrict' | 'tenancy' | 'now'> & { readonly namespace: string },
): Wait | undefined {
  const refusal = talmStrict ? undefined : (findHold(cluster) ?? findClosedHours(cluster, now));
  if (refusal || cluster === undefined || tenancy === undefined || tenancy.reaches(cluster)) return refusal;
  return { cause: 'refused', ...notBound(cluster.metadata.name, namespace) };
}

const driftOf = ({ since, known }: Sightings): RolloutObservation['drift'] => ({
  since: (cluster) => since(driftSighting(cluster)),
  known: (cluster) => known(driftSighting(cluster)),
});

/** Name under which it is remembered since when a cluster that was complete does not comply. */
export const driftSighting = (cluster: string): string => `drift ${cluster}`;

const copyName = ({ namespace, name }: PolicyRef): string => `${namespace}.${name}`;

interface ModeDeps extends ObserveDeps {
  readonly find: (cluster: string) => ManagedCluster | undefined;
}

function modeOf(
  upgrade: ClusterGroupUpgrade,
  caches: RolloutCaches,
  { talmStrict, sightings, now, find: findCluster }: ModeDeps,
): RolloutMode {
  const templates = templatesOf(upgrade);
  if (templates.length === 0)
    return policyMode(upgrade.status?.managedPoliciesForUpgrade ?? [], {
      parent: (ref) => caches.parents.get(ref),
      ways: talmStrict ? undefined : waysFrom(caches, findCluster, now),
      before: upgrade.status && readMeant(upgrade.status),
      hasCopy: (ref, cluster) => !talmStrict && caches.children.get({ namespace: cluster, name: copyName(ref) }) !== undefined,
    });
  return manifestWorkMode(templates, finderOf(upgrade, caches), {
    now,
    appliedSince: ({ metadata }) => sightings.since(`work ${metadata.uid} ${metadata.generation}`),
  });
}

/** Finds the upgrade's work of a template on a cluster, unless it is going. */
function finderOf(upgrade: ClusterGroupUpgrade, { works }: RolloutCaches): (cluster: string, template: string) => ManifestWork | undefined {
  const { namespace = '', name, uid = '' } = upgrade.metadata;
  const names = new Map(
    templatesOf(upgrade).map((template) => [template, resourceName(upgrade, desiredWorkName(namespace, template), '')]),
  );
  return (cluster, template) => {
    const work = works.get({ namespace: cluster, name: names.get(template) ?? '' });
    const usable = work && !isOfJob(work) && isOurs(work, { namespace, name, uid }) && work.metadata.deletionTimestamp === undefined;
    return usable ? work : undefined;
  };
}

function isAtWork(upgrade: ClusterGroupUpgrade, caches: RolloutCaches, cluster: string): boolean {
  const { manifestWorkIndex = 0 } = upgrade.status?.status.currentBatchRemediationProgress?.[cluster] ?? {};
  return finderOf(upgrade, caches)(cluster, templatesOf(upgrade)[manifestWorkIndex] ?? '') !== undefined;
}
