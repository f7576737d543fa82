import { NotificationState, VERSION_ANNOTATION } from '@flotilla/api/managed';
import { hasWorkerSet, planSurge } from '@flotilla/upgrade';
import { done, failed, MINUTE, type Step, skipped, waiting } from './step.ts';

/** Adds a worker for each set of workers. When they do not come in time, the upgrade goes on without them. */
export const reserveCapacity: Step = {
  name: 'reserve-capacity',
  endsWithCommencement: true,
  async run({ upgradeConfig, target, cluster, config, nowMs, ports, writes, whileAsked, notify, logger, signal }) {
    const { timeOut, extraMachinePools } = config.scale;
    if (!upgradeConfig.spec.capacityReservation) return done;
    if (!hasWorkerSet(cluster.machineSets) && extraMachinePools.length === 0) {
      await notify(NotificationState.scaleSkipped);
      return skipped('no MachineSet is of machine pool worker, and scale.extraMachinePools names no other');
    }
    const surge = planSurge(cluster, extraMachinePools, timeOut * MINUTE, nowMs);
    switch (surge.kind) {
      case 'none-to-copy':
        return failed('failed to get any machinesets to scale');
      case 'name-taken':
        return failed(`MachineSet ${surge.name} exists and was not made for an upgrade: delete or rename it, or ask for no extra workers`);
      case 'create':
        for (const set of surge.sets) {
          const metadata = { ...set.metadata, annotations: { [VERSION_ANNOTATION]: target.version } };
          await whileAsked(() => writes.createMachineSet({ ...set, metadata }, signal));
          logger.info({ machineSet: set.metadata.name }, 'Reserved capacity');
        }
        return waiting(`MachineSet ${surge.sets.map(({ metadata }) => metadata.name).join(', ')}`);
      case 'waiting':
        return waiting(surge.reason, surge.deadlineMs - nowMs + 1);
      case 'late':
        ports.metrics.scalingFailed(true);
        logger.warn({ reason: surge.reason }, 'Capacity was not reserved in time, going on without it');
        await notify(NotificationState.skipped);
        return skipped(`${surge.reason} after ${timeOut} minutes`);
      case 'ready':
        ports.metrics.scalingFailed(false);
        return done;
    }
  },
};
