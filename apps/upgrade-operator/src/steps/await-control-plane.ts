import { NotificationState, UpgradeCondition } from '@flotilla/api/managed';
import { askedInstead, conditionOf, hasCompleted, startedAt } from '@flotilla/upgrade';
import { done, MINUTE, type Step, waiting } from './step.ts';

/** Waits until the cluster version operator says that the version is applied. */
export const awaitControlPlane: Step = {
  name: 'await-control-plane',
  async run({ entry, target, cluster, isCommenced, config, nowMs, ports, notify }) {
    const { version } = target;
    if (hasCompleted(cluster.clusterVersion, version)) {
      await notify(NotificationState.controlPlaneFinished);
      ports.metrics.controlPlaneTimeout(version, false);
      return done;
    }
    // Not from upgradeAt on: an upgrade that begins hours late is not late here.
    const commencedAt = Date.parse(conditionOf(entry, UpgradeCondition.commenced)?.completeTime ?? '') || nowMs;
    const deadline = (startedAt(cluster.clusterVersion, version) ?? commencedAt) + config.maintenance.controlPlaneTime * MINUTE;
    const isLate = nowMs > deadline;
    if (isLate) ports.metrics.controlPlaneTimeout(version, true);
    // In the pass that sends the cluster, its ClusterVersion is the one from before.
    const instead = isCommenced ? askedInstead(cluster.clusterVersion, target) : undefined;
    const reason = `version ${version} to be applied${instead === undefined ? '' : `, but ${instead}`}`;
    return waiting(reason, isLate ? undefined : deadline - nowMs + 1);
  },
};
