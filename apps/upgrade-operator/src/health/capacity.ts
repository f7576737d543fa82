import { MachineLabel } from '@flotilla/api/machine';
import { type HealthCheck, HealthReason, type Seen } from './finding.ts';

/** There is a worker pool that can be extended (spec/muo 6.4). */
export const capacity: HealthCheck<Seen<'machineSets'>> = {
  reasons: [HealthReason.noWorkerPool],
  look({ cluster: { machineSets } }) {
    if (machineSets.some(({ metadata }) => metadata.labels?.[MachineLabel.pool] === 'worker')) return undefined;
    return {
      reason: HealthReason.noWorkerPool,
      message: 'capacity cannot be reserved: no MachineSet is labelled hive.openshift.io/machine-pool=worker',
      token: 'CapacityReservationHealthcheckFailed',
    };
  },
};
