import { UpgradeCondition } from '@flotilla/api/managed';
import { hasCompleted, isTrue } from '@flotilla/upgrade';
import { done, MINUTE, type Step } from './step.ts';

/** Silences what the change of the control plane sets off. Once open, or once the control plane is through, there is nothing to do. */
export const openControlPlaneWindow: Step = {
  name: 'open-control-plane-window',
  async run({ entry, target, cluster, config, nowMs, ports, whileAsked, signal }) {
    const { controlPlaneTime, ignoredAlerts } = config.maintenance;
    const { version } = target;
    if (isTrue(entry, UpgradeCondition.controlPlaneWindowCreated) || hasCompleted(cluster.clusterVersion, version)) return done;
    const endsAt = nowMs + controlPlaneTime * MINUTE;
    const window = { version, endsAt, criticalAlerts: ignoredAlerts.controlPlaneCriticals };
    await whileAsked(() => ports.silences.startControlPlane(window, signal));
    return done;
  },
};
