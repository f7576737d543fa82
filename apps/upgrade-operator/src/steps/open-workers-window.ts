import { UpgradeCondition } from '@flotilla/api/managed';
import { conditionOf, workerMinutes, workerPools } from '@flotilla/upgrade';
import { done, MINUTE, type Step } from './step.ts';

/** Silences what the change of workers sets off, for as long as those that are left may take. */
export const openWorkersWindow: Step = {
  name: 'open-workers-window',
  async run({ upgradeConfig, entry, target, cluster, config, nowMs, ports, signal }) {
    const { remaining, isUpgrading } = workerPools(cluster.pools, entry.poolConfigurations);
    if (!isUpgrading || remaining < 1) return done;
    const minutes = workerMinutes(remaining, {
      forceDrain: upgradeConfig.spec.PDBForceDrainTimeout,
      drainTimeOut: config.nodeDrain.timeOut,
      expectedDrain: config.nodeDrain.expectedNodeDrainTime,
    });
    // Before its first try this attempt has had none.
    const since = Date.parse(conditionOf(entry, UpgradeCondition.workersWindowCreated)?.startTime ?? '') || Number.POSITIVE_INFINITY;
    const endsAt = nowMs + minutes * MINUTE;
    await ports.silences.setWorkers({ version: target.version, endsAt, remainingNodes: remaining, since }, signal);
    return done;
  },
};
