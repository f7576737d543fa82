import { foreign, perObject, readJson } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { z } from 'zod';
import { lateClusters, newcomers } from '../batches/late-clusters.ts';
import { type ClusterProgress, ProgressState, type SpokeTarget, SubscriptionRef } from '../upgrade/model.ts';
import { isRunning, keepsObjects, templatesOf } from '../upgrade/stage.ts';

/** The target of each spoke that has one other than `cleanup`; all others are to be clean. */
export const targetsOf = perObject(
  (upgrade: ClusterGroupUpgrade): ReadonlyMap<string, SpokeTarget> => (isRunning(upgrade) ? derive(upgrade) : new Map()),
);

/** Target of one spoke; `cleanup` where the upgrade has no other for it. */
export const targetOf = (upgrade: ClusterGroupUpgrade, cluster: string): SpokeTarget =>
  targetsOf(upgrade).get(cluster) ?? { phase: 'cleanup', keepWorks: keepsObjects(upgrade) };

function derive(upgrade: ClusterGroupUpgrade): Map<string, SpokeTarget> {
  const { remediationPlan = [], clusters = [], status } = upgrade.status ?? { status: {} };
  const { beforeEnable, afterCompletion } = upgrade.spec?.actions ?? {};
  const recorded = new Set(clusters.map(({ name }) => name));
  const targets = new Map<string, SpokeTarget>();
  const nameLabel = templatesOf(upgrade).length === 0;
  const isLate = (status.currentBatch ?? 0) > 0;
  const own = upgrade.status ?? { status };
  for (const cluster of isLate ? [...lateClusters(own), ...newcomers(own)] : remediationPlan.flat())
    if (!recorded.has(cluster)) targets.set(cluster, { phase: 'prepare', edits: beforeEnable, nameLabel, ...(isLate && { isLate }) });
  const remediate = remediation(upgrade);
  for (const [cluster, progress] of Object.entries(status.currentBatchRemediationProgress ?? {})) {
    if (progress.state === ProgressState.completed)
      targets.set(cluster, { phase: 'complete', edits: recorded.has(cluster) ? undefined : afterCompletion });
    else if (progress.state === ProgressState.inProgress && !recorded.has(cluster)) targets.set(cluster, remediate(progress));
  }
  return targets;
}

const Subscriptions = foreign(z.array(SubscriptionRef));

function remediation(upgrade: ClusterGroupUpgrade): (progress: ClusterProgress) => SpokeTarget {
  const templates = templatesOf(upgrade);
  if (templates.length > 0) {
    return ({ manifestWorkIndex = 0 }) => ({
      phase: 'remediate',
      mode: 'manifestWork',
      template: templates[manifestWorkIndex] ?? '',
    });
  }
  const { managedPoliciesForUpgrade = [], managedPoliciesContent = {} } = upgrade.status ?? {};
  const targets = managedPoliciesForUpgrade.map(({ name }): SpokeTarget => {
    return { phase: 'remediate', mode: 'policy', policy: name, subscriptions: readSubscriptions(managedPoliciesContent[name]) };
  });
  const none: SpokeTarget = { phase: 'remediate', mode: 'policy', policy: '', subscriptions: [] };
  return ({ policyIndex = 0 }) => targets[policyIndex] ?? none;
}

/** The status is ours, but a person with the right to may have edited it. */
const readSubscriptions = (content = ''): readonly SubscriptionRef[] => Subscriptions.safeParse(readJson(content)).data ?? [];
