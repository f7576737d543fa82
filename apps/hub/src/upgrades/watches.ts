/** Maps changes to the upgrades they enqueue. No event's content reaches a decision. */

import { findCondition, type KubeObject, Label, perObject, refKey } from '@flotilla/api';
import type { ManagedClusterSet, Policy } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition, isFinalBackupState, isFinalPrecacheState } from '@flotilla/api/ran';
import { isEnding, isOpenToMembers, isRunning, parentName, placementOf, templatesOf, upgradeIndexOf } from '@flotilla/rollout';
import { type Change, type Watch, watch, whenChanged } from '@flotilla/runtime';
import { BY_BLOCKER, BY_LABELS, BY_OPEN, BY_POLICY, BY_UID, isOfJob, isOfUpgrade, type RolloutCaches } from '../caches.ts';
import { hasClusterChanged } from '../spokes/transports/cluster.ts';
import type { UpgradeCaches } from './observe.ts';

/** A moment for what changes together. */
const GATHER_MS = 200;

type Caches = UpgradeCaches & RolloutCaches;

/** Watches the upgrades; the end of one enqueues the upgrades that it blocks. */
export const upgradesOf = ({ upgrades }: Pick<Caches, 'upgrades'>): Watch =>
  watch(upgrades, {
    enqueue: (change) => [change.object, ...(hasEndedAnew(change) ? upgrades.byIndex(BY_BLOCKER, refKey(change.object.metadata)) : [])],
  });

/** Watches the other objects that concern upgrades. */
export function watchesOf(caches: Caches): Watch[] {
  const { upgrades, clusterSetBindings, clusterSets } = caches;
  const open = () => upgrades.byIndex(BY_OPEN, 'yes');
  const openIn = (namespace: string | undefined) => open().filter(({ metadata }) => metadata.namespace === namespace);
  return [
    watch(caches.clusters, {
      select: hasClusterChanged,
      enqueue: ({ object }) => open().filter((upgrade) => concerns(upgrade, object.metadata.name)),
    }),
    watch(caches.configs, {
      enqueue: ({ object }) => open().filter(({ spec }) => spec?.preCachingConfigRef?.name === object.metadata.name),
    }),
    watch(caches.overrides, { enqueue: ({ object }) => openIn(object.metadata.namespace) }),
    watch(caches.templates, {
      enqueue: ({ object: { metadata } }) => openIn(metadata.namespace).filter((upgrade) => templatesOf(upgrade).includes(metadata.name)),
    }),
    ...(clusterSetBindings ? [watch(clusterSetBindings, { enqueue: ({ object }) => openIn(object.metadata.namespace) })] : []),
    ...(clusterSets ? [watch(clusterSets, { select: hasClusterSetChanged, enqueue: open })] : []),
    ...policyWatches(caches),
    ...hubObjectWatches(caches),
  ];
}

const policyWatches = (caches: Caches): Watch[] => {
  const { upgrades, parents, children, placements, bindings, decisions } = caches;
  return [
    watch(parents, { select: hasParentChanged, enqueue: ({ object }) => upgrades.byIndex(BY_POLICY, object.metadata.name) }),
    watch(children, {
      select: hasChildChanged,
      // A running upgrade has validated its policies, but a cluster whose copy is gone has nothing left to do.
      enqueue: ({ type, object }) =>
        upgrades.byIndex(BY_POLICY, parentName(object)).filter((upgrade) => type === 'deleted' || !isRunning(upgrade)),
    }),
    ...wayWatches(caches),
    ...[placements, bindings].map((cache) =>
      watch(cache, { enqueue: ({ object }: Change<KubeObject>) => upgrades.byIndex(BY_LABELS, upgradeIndexOf(object)) }),
    ),
    watch(decisions, {
      enqueue: ({ object }) => {
        const placement = placements.get(placementOf(object));
        return placement ? upgrades.byIndex(BY_LABELS, upgradeIndexOf(placement)) : [];
      },
    }),
  ];
};

/** Watches the objects that place policies: they concern the upgrades with policies of their namespace. */
function wayWatches({ upgrades, bindings, decisions, parents, placements }: Caches): Watch[] {
  const policiesIn = (namespace: string | undefined) => parents.list().filter(({ metadata }) => metadata.namespace === namespace);
  const enqueue = ({ object }: Change<KubeObject>) =>
    policiesIn(object.metadata.namespace).flatMap(({ metadata }) =>
      upgrades.byIndex(BY_POLICY, metadata.name).filter(({ status }) => !status?.status.completedAt),
    );
  return [
    ...[bindings, placements].map((cache) =>
      watch(cache, { select: ({ object }: Change<KubeObject>) => !isOfUpgrade(object), enqueue, gatherMs: GATHER_MS }),
    ),
    watch(decisions, { select: ({ object }) => !isOfUpgrade(placements.get(placementOf(object)) ?? object), enqueue, gatherMs: GATHER_MS }),
  ];
}

/** Watches hub objects: what they tell of jobs and works counts; the others matter only when the upgrade waits for their end. */
function hubObjectWatches(caches: Caches): Watch[] {
  const { upgrades } = caches;
  const ownersOf = ({ metadata }: KubeObject) => {
    const uid = metadata.labels?.[Label.upgradeUid];
    // Objects of the reference carry no uid.
    return (uid === undefined ? upgrades.byIndex(BY_LABELS, upgradeIndexOf({ metadata })) : upgrades.byIndex(BY_UID, uid)).slice(0, 1);
  };
  const ofJobs = ({ type, object }: Change<KubeObject & { status?: { conditions?: unknown } | undefined }>) => {
    const tells = isOfJob(object) && (type === 'deleted' || object.status?.conditions !== undefined);
    return ownersOf(object).filter((upgrade) => isEnding(upgrade) || (tells && !hasVerdict(upgrade, object)));
  };
  return [
    watch(caches.works, { enqueue: (change) => (isOfJob(change.object) ? ofJobs(change) : ownersOf(change.object)) }),
    watch(caches.actions, { enqueue: ofJobs }),
    watch(caches.views, { enqueue: ofJobs }),
  ];
}

/** True for an object of a job that has its stored verdict: the many that go after it are no news. */
function hasVerdict({ status }: ClusterGroupUpgrade, { metadata: { namespace = '', labels } }: KubeObject): boolean {
  const precaching = status?.precaching?.status?.[namespace];
  const backup = status?.backup?.status?.[namespace];
  return labels?.[Label.work] === 'backup'
    ? backup !== undefined && isFinalBackupState(backup)
    : precaching !== undefined && isFinalPrecacheState(precaching);
}

/** Any cluster may change the clusters of a selector; a running upgrade has fixed clusters unless it is open to members. */
function concerns(upgrade: ClusterGroupUpgrade, cluster: string): boolean {
  const { spec } = upgrade;
  if ((!isRunning(upgrade) || isOpenToMembers(upgrade)) && (spec?.clusterLabelSelectors || spec?.clusterSelector)) return true;
  return clustersOf(upgrade).has(cluster);
}

const clustersOf = perObject(({ spec, status }: ClusterGroupUpgrade): ReadonlySet<string> => {
  const progress = Object.keys(status?.status.currentBatchRemediationProgress ?? {});
  return new Set([...(spec?.clusters ?? []), ...(status?.remediationPlan ?? []).flat(), ...progress]);
});

/** The verdict, or that it waits for somebody, is news for those that it blocks. */
const hasEndedAnew = whenChanged(({ status }: ClusterGroupUpgrade) => {
  const { succeeded, stalled } = ClusterGroupUpgradeCondition;
  return [succeeded, stalled].map((kind) => findCondition(status?.conditions, kind)?.status);
});

/** Clusters show their set themselves, so only the set's spec counts. */
const hasClusterSetChanged = whenChanged(({ metadata }: ManagedClusterSet) => [metadata.generation, metadata.deletionTimestamp]);

/** True when the policy, or any cluster's compliance with it, changed. */
function hasParentChanged({ type, object, previous }: Change<Policy>): boolean {
  if (type === 'deleted' || !previous) return true;
  const { generation, annotations, labels } = object.metadata;
  const before = previous.metadata;
  if (generation !== before.generation || JSON.stringify([annotations, labels]) !== JSON.stringify([before.annotations, before.labels]))
    return true;
  const [now, then] = [object.status?.status ?? [], previous.status?.status ?? []];
  return (
    now.length !== then.length ||
    now.some(({ clustername, compliant }, index) => then[index]?.clustername !== clustername || then[index]?.compliant !== compliant)
  );
}

const hasChildChanged = whenChanged(({ spec }: Policy) => spec?.['policy-templates']);
