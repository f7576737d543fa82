/** Plans the writes on the hub that make a spoke's target true. Pure. */

import { type KubeObject, Label } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork, type ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { clusterPatch, type EditOptions } from '../clusters/cluster-edits.ts';
import { isAvailable } from '../clusters/managed-cluster.ts';
import { findPause } from '../gates/pause.ts';
import {
  identityOf,
  isAttributed,
  isOurs,
  isReferences,
  isReferencesAction,
  type UpgradeIdentity,
  upgradeLabels,
} from '../upgrade/identity.ts';
import { type ClusterEdits, deletionOf, type HubWrite, type SpokeTarget } from '../upgrade/model.ts';
import { desiredWorkName, resourceName } from '../upgrade/safe-names.ts';
import { isComplete, isRunning, keepsObjects } from '../upgrade/stage.ts';
import { desiredWork } from '../works/manifest-works.ts';
import { isRolloutsVersion } from '../works/template-versions.ts';
import { type PlanSettings, planApprovals, type SpokePlan } from './subscriptions.ts';

/** One spoke of one upgrade, as the watch caches show it. */
export interface ObservedSpoke {
  readonly upgrade: ClusterGroupUpgrade;
  readonly cluster: string;
  /** Undefined when the cluster is gone, or about to be. */
  readonly managed: ManagedCluster | undefined;
  readonly template: (name: string) => ManifestWorkReplicaSet | undefined;
  /** Works of any upgrade in the cluster's namespace. */
  readonly works: readonly ManifestWork[];
  /** Views and actions of any rollout in the cluster's namespace. */
  readonly views: readonly ManagedClusterView[];
  readonly actions: readonly ManagedClusterAction[];
  /** Labels that no edit may touch: edited after the validation, they are left alone. Absent: none. */
  readonly decidingLabels?: ReadonlySet<string> | undefined;
}

/** The writes that are due now. None: the target is true, or something else has to happen first, which a watch event will tell. */
export function planSpoke(target: SpokeTarget, spoke: ObservedSpoke, settings: PlanSettings): SpokePlan {
  const { writes, wakeAt } = planTarget(target, spoke, settings);
  // First: an approval of ours takes the name of the reference's, which fires whenever its cluster returns, in the window or not.
  return { writes: [...removeReferences(spoke), ...writes], wakeAt };
}

function removeReferences({ upgrade, actions }: ObservedSpoke): HubWrite[] {
  const left = actions.filter((action) => isReferencesAction(action, identityOf(upgrade)));
  return left.map((action) => deletionOf(ManagedClusterAction, action));
}

function planTarget(target: SpokeTarget, spoke: ObservedSpoke, settings: PlanSettings): SpokePlan {
  switch (target.phase) {
    case 'prepare':
      return {
        writes: [
          ...editCluster(spoke, target.edits, { nameLabel: target.nameLabel }),
          ...(target.isLate ? [...(keepsObjects(spoke.upgrade) ? [] : removeWorks(spoke)), ...removeTransport(spoke, settings)] : []),
        ],
      };
    case 'remediate':
      // A cluster that is gone is recorded by the leader; whatever were created for it would be left behind.
      if (!spoke.managed) return { writes: [] };
      // Taking a work away would undo it, and an approval is a beginning.
      if (!settings.talmStrict && findPause(spoke.upgrade)?.stops) return { writes: [] };
      return target.mode === 'manifestWork' ? { writes: placeWork(spoke, target.template, settings) } : approve(spoke, target, settings);
    case 'complete':
      return { writes: [...editCluster(spoke, target.edits), ...removeTransport(spoke, settings)] };
    case 'cleanup':
      return { writes: [...(target.keepWorks ? [] : removeWorks(spoke)), ...removeTransport(spoke, settings)] };
  }
}

function editCluster(
  { managed, cluster, decidingLabels }: ObservedSpoke,
  edits: ClusterEdits | undefined,
  options?: EditOptions,
): HubWrite[] {
  const patch = managed && clusterPatch(managed, edits, { ...options, decidingLabels });
  return patch ? [{ verb: 'patch', kind: ManagedCluster, ref: { name: cluster }, patch }] : [];
}

/** The work of one template, once no other work of the upgrade is left there (spec/talm 2.12). */
function placeWork(spoke: ObservedSpoke, templateName: string, { talmStrict }: PlanSettings): HubWrite[] {
  const { upgrade, cluster } = spoke;
  const identity = identityOf(upgrade);
  const name = resourceName(upgrade, desiredWorkName(identity.namespace, templateName), '');
  const own = ownOf(spoke.works, spoke);
  const found = own.find(({ metadata }) => metadata.name === name && !isAnEarliers(metadata.labels, identity));
  const others = own.filter((work) => work !== found);
  if (others.length > 0) return others.flatMap(unlessLeaving);
  if (found) return adopt(found, identity);
  const template = spoke.template(templateName);
  // Validation names a template that is missing; here it went missing on the way, and may come back.
  if (!talmStrict && template && !isRolloutsVersion(upgrade, template)) return [];
  const object = template && desiredWork({ upgrade: identity, cluster, template, name, talmStrict });
  return object ? [{ verb: 'create', kind: ManifestWork, object }] : [];
}

/** Created by an earlier upgrade of the same name, which is gone. */
const isAnEarliers = (labels: Readonly<Record<string, string>> = {}, { uid }: UpgradeIdentity): boolean =>
  labels[Label.upgradeUid] !== undefined && labels[Label.upgradeUid] !== uid;

/** A work that the reference created for this upgrade before we took over is adopted: deleting it would undo it on the cluster. */
function adopt(work: ManifestWork, identity: UpgradeIdentity): HubWrite[] {
  const { name, namespace, uid } = work.metadata;
  if (isOurs(work, identity) || work.metadata.deletionTimestamp !== undefined) return [];
  const patch = { metadata: { uid, labels: upgradeLabels(identity) } };
  return [{ verb: 'patch', kind: ManifestWork, ref: { namespace, name }, patch }];
}

function approve(spoke: ObservedSpoke, { subscriptions }: Extract<SpokeTarget, { mode: 'policy' }>, settings: PlanSettings): SpokePlan {
  const { upgrade, cluster, managed, views, actions } = spoke;
  return planApprovals({
    upgrade: identityOf(upgrade),
    cluster,
    subscriptions,
    safeName: (desired) => resourceName(upgrade, desired, ''),
    // Nobody is woken for the reference's: one that is in the way is replaced.
    views: views.filter((view) => !isReferences(view, identityOf(upgrade))),
    actions: actions.filter((action) => !isReferencesAction(action, identityOf(upgrade))),
    available: isAvailable(managed),
    ...settings,
  });
}

/** Objects of this upgrade, those of an earlier one of the same name included. */
function ownOf<T extends KubeObject>(objects: readonly T[], { upgrade }: ObservedSpoke): T[] {
  const identity = identityOf(upgrade);
  return objects.filter((object) => isOurs(object, identity) || isAttributed(object, identity));
}

const removeWorks = (spoke: ObservedSpoke): HubWrite[] => ownOf(spoke.works, spoke).flatMap(unlessLeaving);

/** A deletion that was asked for goes on by itself: the agent has to let the work go. */
const unlessLeaving = (work: ManifestWork): HubWrite[] =>
  work.metadata.deletionTimestamp === undefined ? [deletionOf(ManifestWork, work)] : [];

/** Views and actions; the reference leaves its approvals until the upgrade ends, and those of clusters that are complete for good. */
function removeTransport(spoke: ObservedSpoke, { talmStrict }: PlanSettings): HubWrite[] {
  const { upgrade, cluster, views, actions } = spoke;
  const keepsActions = talmStrict && (isRunning(upgrade) || isComplete(upgrade, cluster));
  return [
    ...ownOf(views, spoke).map((view) => deletionOf(ManagedClusterView, view)),
    ...actions
      .filter((action) => !keepsActions && isOurs(action, identityOf(upgrade)))
      .map((action) => deletionOf(ManagedClusterAction, action)),
  ];
}
