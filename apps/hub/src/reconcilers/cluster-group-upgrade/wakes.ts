/** Which upgrades are looked at when something changes. What it was that changed reaches no decision. */

import { findCondition, type KubeObject, Label, refKey } from '@flotilla/api';
import { PLACEMENT_SATISFIED, type Placement, type Policy } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import { blockingRefs, isEnding, isRunning, templatesOf, upgradeIndexOf } from '@flotilla/rollout';
import type { Change, WorkQueue } from '@flotilla/runtime';
import type { RolloutCaches } from '../../rollout/caches.ts';
import { BY_LABELS } from '../../rollout/engine.ts';
import { hasClusterChanged } from '../../rollout/observe.ts';
import { BY_UID, type SpokeJobCaches } from '../../spoke-job/caches.ts';
import type { UpgradeCaches } from './observe.ts';

/** Index of upgrades by the names of the policies they manage: those of the spec, and those of a rollout that runs, whatever became of the spec. */
const BY_POLICY = 'policy';
/** Index of upgrades by `namespace/name` of those they wait for. */
const BY_BLOCKER = 'blocker';
/** Index of upgrades that have not ended: `yes`. */
const BY_OPEN = 'open';

/** Indexes that the cache of upgrades needs. */
export const wakeIndexes = {
  [BY_POLICY]: ({ spec, status }: ClusterGroupUpgrade) => [
    ...new Set([...(spec?.managedPolicies ?? []), ...(status?.managedPoliciesForUpgrade ?? []).map(({ name }) => name)]),
  ],
  [BY_BLOCKER]: (upgrade: ClusterGroupUpgrade) => blockingRefs(upgrade).map(refKey),
  [BY_OPEN]: ({ status }: ClusterGroupUpgrade) => (status?.status.completedAt ? [] : ['yes']),
};

type Caches = UpgradeCaches & SpokeJobCaches & RolloutCaches;

/** Adds the upgrades that a change concerns to the queue, from now on, and all of them now. */
export function wakeOnChange(caches: Caches, queue: Pick<WorkQueue, 'add'>): void {
  const { upgrades } = caches;
  const lookAt = (upgrade: ClusterGroupUpgrade) => queue.add(refKey(upgrade.metadata));
  const open = () => upgrades.byIndex(BY_OPEN, 'yes');
  upgrades.subscribe((change) => {
    lookAt(change.object);
    if (hasEndedAnew(change)) upgrades.byIndex(BY_BLOCKER, refKey(change.object.metadata)).forEach(lookAt);
  });
  caches.clusters.subscribe((change) => {
    if (!hasClusterChanged(change)) return;
    for (const upgrade of open()) if (concerns(upgrade, change.object.metadata.name)) lookAt(upgrade);
  });
  caches.configs.subscribe(({ object }) => {
    for (const upgrade of open()) if (upgrade.spec?.preCachingConfigRef?.name === object.metadata.name) lookAt(upgrade);
  });
  caches.overrides.subscribe(({ object }) => {
    for (const upgrade of open()) if (upgrade.metadata.namespace === object.metadata.namespace) lookAt(upgrade);
  });
  caches.templates.subscribe(({ object: { metadata } }) => {
    for (const upgrade of open())
      if (upgrade.metadata.namespace === metadata.namespace && templatesOf(upgrade).includes(metadata.name)) lookAt(upgrade);
  });
  caches.clusterSetBindings?.subscribe(({ object }) => {
    for (const upgrade of open()) if (upgrade.metadata.namespace === object.metadata.namespace) lookAt(upgrade);
  });
  caches.clusterSets?.subscribe(({ type, object, previous }) => {
    if (type === 'deleted' || object.metadata.generation !== previous?.metadata.generation || object.metadata.deletionTimestamp)
      open().forEach(lookAt);
  });
  wakeOnPolicies(caches, lookAt);
  wakeOnHubObjects(caches, lookAt);
  upgrades.list().forEach(lookAt);
}

function wakeOnPolicies({ upgrades, parents, children, placements }: Caches, lookAt: (upgrade: ClusterGroupUpgrade) => void): void {
  parents.subscribe((change) => {
    if (hasParentChanged(change)) upgrades.byIndex(BY_POLICY, change.object.metadata.name).forEach(lookAt);
  });
  children.subscribe((change) => {
    if (!hasChildChanged(change)) return;
    const { name } = change.object.metadata;
    // What is running was validated before; but a cluster whose copy is gone has nothing to do there any more.
    for (const upgrade of upgrades.byIndex(BY_POLICY, name.slice(name.indexOf('.') + 1)))
      if (change.type === 'deleted' || !isRunning(upgrade)) lookAt(upgrade);
  });
  placements.subscribe((change) => {
    if (hasPlacementChanged(change)) upgrades.byIndex(BY_LABELS, upgradeIndexOf(change.object)).forEach(lookAt);
  });
}

/** Works say how far a cluster is; everything else matters when the upgrade waits for it to be gone. */
function wakeOnHubObjects(caches: Caches, lookAt: (upgrade: ClusterGroupUpgrade) => void): void {
  const { upgrades } = caches;
  const lookAtOwner = ({ metadata }: KubeObject, when: (upgrade: ClusterGroupUpgrade) => boolean) => {
    const uid = metadata.labels?.[Label.upgradeUid];
    // What the reference created says no uid.
    const [upgrade] = uid === undefined ? upgrades.byIndex(BY_LABELS, upgradeIndexOf({ metadata })) : upgrades.byIndex(BY_UID, uid);
    if (upgrade && when(upgrade)) lookAt(upgrade);
  };
  caches.works.subscribe(({ object }) => lookAtOwner(object, () => true));
  for (const cache of [caches.actions, caches.views, caches.rolloutActions, caches.rolloutViews])
    cache.subscribe(({ object }) => lookAtOwner(object, isEnding));
  for (const cache of [caches.placements, caches.bindings])
    cache.subscribe(({ type, object }) => {
      if (type === 'deleted') upgrades.byIndex(BY_LABELS, upgradeIndexOf(object)).filter(isEnding).forEach(lookAt);
    });
}

/** Who is upgraded by a selector may change with any cluster; who is running has its clusters. */
function concerns(upgrade: ClusterGroupUpgrade, cluster: string): boolean {
  const { spec } = upgrade;
  if (!isRunning(upgrade) && (spec?.clusterLabelSelectors || spec?.clusterSelector)) return true;
  return clustersOf(upgrade).has(cluster);
}

const namedBefore = new WeakMap<ClusterGroupUpgrade, ReadonlySet<string>>();

function clustersOf(upgrade: ClusterGroupUpgrade): ReadonlySet<string> {
  const { spec, status } = upgrade;
  const progress = Object.keys(status?.status.currentBatchRemediationProgress ?? {});
  const named = namedBefore.get(upgrade) ?? new Set([...(spec?.clusters ?? []), ...(status?.remediationPlan ?? []).flat(), ...progress]);
  namedBefore.set(upgrade, named);
  return named;
}

function hasEndedAnew({ type, object, previous }: Change<ClusterGroupUpgrade>): boolean {
  const verdict = (upgrade: ClusterGroupUpgrade) =>
    findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.succeeded)?.status;
  return type === 'deleted' || !previous || verdict(object) !== verdict(previous);
}

/** The policy itself, or how any cluster complies with it. */
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

function hasChildChanged({ type, object, previous }: Change<Policy>): boolean {
  if (type === 'deleted' || !previous) return true;
  const facts = ({ spec }: Policy) => JSON.stringify(spec?.['policy-templates']);
  return facts(object) !== facts(previous);
}

function hasPlacementChanged({ type, object, previous }: Change<Placement>): boolean {
  const facts = ({ status }: Placement) => {
    const satisfied = findCondition(status?.conditions, PLACEMENT_SATISFIED);
    return JSON.stringify([satisfied?.status, satisfied?.reason, satisfied?.message]);
  };
  return type === 'deleted' || !previous || facts(object) !== facts(previous);
}
