import { NotificationState, UpgradeCondition } from '@flotilla/api/managed';
import { conditionOf, describePaused, describeWorkers, workerPools } from '@flotilla/upgrade';
import { done, MINUTE, type Step, skipped, waiting } from './step.ts';

/** A pool that has not begun after so long has nothing to change. */
const REACTION_MINUTES = 5;

/** Waits until every pool of workers has what the new version configures. */
export const awaitWorkers: Step = {
  name: 'await-workers',
  async run(context) {
    const { entry, target, cluster, config, nowMs, ports, notify, signal } = context;
    const { machines, updated, isUpgrading, untouched } = workerPools(cluster.pools, entry.poolConfigurations);
    if (isUpgrading) {
      // Alertmanager alone knows whether its window has run out: asked again every minute.
      ports.metrics.workerTimeout(target.version, !(await ports.silences.isStanding(signal)));
      const stuck = await ports.nodes.stuck({ nodes: cluster.nodes, expectedMinutes: config.nodeDrain.expectedNodeDrainTime }, signal);
      const progress = `${machines - updated} of ${machines} workers`;
      return waiting(describeWorkers({ progress, pools: cluster.pools, stuck, nodes: cluster.nodes }), MINUTE);
    }
    const reactsUntil =
      (Date.parse(conditionOf(entry, UpgradeCondition.controlPlaneUpgraded)?.completeTime ?? '') || 0) + REACTION_MINUTES * MINUTE;
    if (untouched.length > 0 && nowMs < reactsUntil)
      return waiting(`machine config pool ${untouched.join(', ')} to take up the configuration of the new version`, reactsUntil - nowMs);
    ports.metrics.workerTimeout(target.version, false);
    const paused = describePaused(cluster.pools);
    await notify(NotificationState.workersFinished, paused);
    return paused === undefined ? done : skipped(`machine config pools are paused before all their machines were updated: ${paused}`);
  },
};
