/** Progress of the worker pools (spec/muo 7.2, 7.3). */
import type { MachineConfigPool } from '@flotilla/api/machine';
import type { UpgradeHistory } from '@flotilla/api/managed';

interface WorkerPools {
  readonly machines: number;
  readonly updated: number;
  /** Machines that are not updated. */
  readonly remaining: number;
  /** Some machine lacks its pool's configuration. */
  readonly isUpgrading: boolean;
  /** Pools that still have the configuration from before the upgrade, or that are not seen any more. */
  readonly untouched: readonly string[];
}

/** True for pools other than the control plane's, which the cluster version operator waits for, and paused ones, which change nothing. */
const isWorkerPool = ({ metadata, spec }: MachineConfigPool): boolean => metadata.name !== 'master' && spec?.paused !== true;

/**
 * Sums up the worker pools.
 * @param before rendered configuration of each pool before the upgrade
 */
export function workerPools(pools: readonly MachineConfigPool[], before: UpgradeHistory['poolConfigurations'] = {}): WorkerPools {
  const workers = pools.filter(isWorkerPool);
  const sum = (count: (pool: MachineConfigPool) => number) => workers.reduce((total, pool) => total + count(pool), 0);
  const machines = sum(({ status }) => status?.machineCount ?? 0);
  const updated = sum(({ status }) => Math.min(status?.updatedMachineCount ?? 0, status?.machineCount ?? 0));
  const hasMachines = workers.filter(({ status }) => (status?.machineCount ?? 0) > 0);
  const isUntouched = (name: string, configuration: string): boolean =>
    !pools.some(({ metadata }) => metadata.name === name) ||
    hasMachines.some(({ metadata, spec }) => metadata.name === name && spec?.configuration?.name === configuration);
  return {
    machines,
    updated,
    remaining: machines - updated,
    isUpgrading: machines !== updated || hasMachines.some(isBetweenConfigurations),
    untouched: Object.entries(before).flatMap(([name, configuration]) => (isUntouched(name, configuration) ? [name] : [])),
  };
}

/** True while the pool's machines have not received the new configuration. */
function isBetweenConfigurations({ spec, status }: MachineConfigPool): boolean {
  const [wanted, had] = [spec?.configuration?.name, status?.configuration?.name];
  return wanted !== undefined && had !== undefined && wanted !== had;
}

/** Selects the configurations that `workerPools` compares with later. */
export const poolConfigurations = (pools: readonly MachineConfigPool[]): Record<string, string> =>
  Object.fromEntries(
    pools.filter(isWorkerPool).flatMap(({ metadata, spec }): [string, string][] => {
      const name = spec?.configuration?.name;
      return name === undefined ? [] : [[metadata.name, name]];
    }),
  );

/** Computes the minutes that the remaining workers may take (spec/muo 7.2). */
export const workerMinutes = (
  remaining: number,
  minutes: { readonly forceDrain: number; readonly drainTimeOut: number; readonly expectedDrain: number },
): number => remaining * (Math.max(minutes.forceDrain, minutes.drainTimeOut) + minutes.expectedDrain);
