import { type HealthCheck, HealthReason } from './finding.ts';

/** There is a worker pool that can be extended (spec/muo 6.4). */
export const capacity: HealthCheck<{
  readonly machineSets: readonly { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }[];
}> = {
  reasons: [HealthReason.noWorkerPool],
  look({ machineSets }) {
    if (machineSets.some(({ metadata }) => metadata.labels?.['hive.openshift.io/machine-pool'] === 'worker')) return undefined;
    return {
      reason: HealthReason.noWorkerPool,
      message: 'capacity cannot be reserved: no MachineSet is labelled hive.openshift.io/machine-pool=worker',
      token: 'CapacityReservationHealthcheckFailed',
    };
  },
};
