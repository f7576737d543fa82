import { CLUSTER_AVAILABLE, type ClusterGroupUpgrade, findCondition, type ManagedCluster, type ManifestWork } from '@flotilla/api';
import type { Change } from '@flotilla/runtime';
import { BY_UPGRADE_NAME, type RolloutCaches } from './caches.ts';
import { manifestWorkMode } from './manifest-work-mode.ts';
import type { RolloutMode, RolloutObservation } from './model.ts';
import { findPlacementProblem, upgradeIndexValue } from './placements.ts';
import { policyMode } from './policy-mode.ts';
import { desiredWorkName, resourceName } from './safe-names.ts';
import { areEditsApplied } from './spoke/cluster-edits.ts';
import { isOurs } from './spoke/labels.ts';
import { templatesOf } from './targets.ts';

/**
 * Everything one pass of a running rollout looks at, read from caches alone.
 * @param upgrade with the status the rollout runs by
 * @param problem errors of steps that last
 */
export function observeRollout(
  upgrade: ClusterGroupUpgrade,
  caches: RolloutCaches,
  problem: RolloutObservation['problem'],
): RolloutObservation {
  const { actions } = upgrade.spec ?? {};
  const mode = modeOf(upgrade, caches);
  const nameLabel = mode.kind === 'policy';
  const find = (name: string) => {
    const cluster = caches.clusters.get({ name });
    return cluster?.metadata.deletionTimestamp === undefined ? cluster : undefined;
  };
  const { namespace = '', name } = upgrade.metadata;
  const placements = nameLabel ? caches.placements.byIndex(BY_UPGRADE_NAME, upgradeIndexValue({ namespace, name })) : [];
  return {
    mode,
    exists: (cluster) => find(cluster) !== undefined,
    isPrepared: (cluster) => {
      const managed = find(cluster);
      return managed === undefined || areEditsApplied(managed, actions?.beforeEnable, { nameLabel });
    },
    isEdited: (cluster) => {
      const managed = find(cluster);
      return managed === undefined || areEditsApplied(managed, actions?.afterCompletion);
    },
    placementProblem: findPlacementProblem(placements),
    problem,
  };
}

function modeOf(upgrade: ClusterGroupUpgrade, caches: RolloutCaches): RolloutMode {
  const templates = templatesOf(upgrade);
  if (templates.length === 0)
    return policyMode(upgrade.status?.managedPoliciesForUpgrade ?? [], {
      parent: (ref) => caches.parents.get(ref),
      hasCopy: (ref, cluster) => caches.children.get({ namespace: cluster, name: `${ref.namespace}.${ref.name}` }) !== undefined,
    });
  const { namespace = '', name, uid = '' } = upgrade.metadata;
  const names = new Map(templates.map((template) => [template, resourceName(upgrade, desiredWorkName(namespace, template), '')]));
  return manifestWorkMode(templates, (cluster, template): ManifestWork | undefined => {
    const work = caches.works.get({ namespace: cluster, name: names.get(template) ?? '' });
    const usable = work && isOurs(work, { namespace, name, uid }) && work.metadata.deletionTimestamp === undefined;
    return usable ? work : undefined;
  });
}

/** A heartbeat changes neither what is selected nor what is seen on a cluster. */
export function hasClusterChanged({ type, object, previous }: Change<ManagedCluster>): boolean {
  const facts = ({ metadata, status }: ManagedCluster) =>
    JSON.stringify([
      metadata.labels,
      metadata.annotations,
      metadata.deletionTimestamp,
      findCondition(status?.conditions, CLUSTER_AVAILABLE)?.status,
    ]);
  return type === 'deleted' || !previous || facts(object) !== facts(previous);
}
