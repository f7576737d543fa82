import { NotificationState, UpgradeCondition } from '@flotilla/api/managed';
import { conditionOf, workerPools } from '@flotilla/upgrade';
import { done, MINUTE, type Step, type StepContext, waiting } from './step.ts';

/** A pool that has not begun after so long has nothing to change. */
const REACTION_MINUTES = 5;

/** Waits until every pool of workers has what the new version configures. */
export const awaitWorkers: Step = {
  name: 'await-workers',
  endsWithCommencement: false,
  async run(context) {
    const { entry, target, cluster, nowMs, ports, notify, signal } = context;
    const { machines, updated, isUpgrading, untouched } = workerPools(cluster.pools, entry.poolConfigurations);
    if (isUpgrading) {
      ports.metrics.workerTimeout(target.version, !(await ports.silences.isActive(signal)));
      return waiting(`${machines - updated} of ${machines} workers`, windowEnd(context));
    }
    const reactsUntil =
      (Date.parse(conditionOf(entry, UpgradeCondition.controlPlaneUpgraded)?.completeTime ?? '') || 0) + REACTION_MINUTES * MINUTE;
    if (untouched.length > 0 && nowMs < reactsUntil)
      return waiting(`machine config pool ${untouched.join(', ')} to take up the configuration of the new version`, reactsUntil - nowMs);
    ports.metrics.workerTimeout(target.version, false);
    await notify(NotificationState.workersFinished);
    return done;
  },
};

/** When the window ends may be known to Alertmanager alone: asked again every so often. */
const windowEnd = ({ config }: StepContext): number => Math.max(1, config.nodeDrain.expectedNodeDrainTime) * MINUTE;
