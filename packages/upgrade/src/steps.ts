/** Steps of managed upgrades as data, for the operator and the command line. */
import { UpgradeCondition, type UpgradeType } from '@flotilla/api/managed';

/** Condition of every step. The step's code has the same name in `apps/upgrade-operator/src/steps`. */
export const stepConditions = {
  'send-started-notification': UpgradeCondition.startedNotificationSent,
  'report-delay': UpgradeCondition.startedNotificationSent,
  'check-upgradable': UpgradeCondition.isClusterUpgradable,
  'check-health-before': UpgradeCondition.healthyBefore,
  'check-dependencies': UpgradeCondition.dependenciesAvailable,
  'check-cache': UpgradeCondition.cacheProven,
  'reserve-capacity': UpgradeCondition.capacityReserved,
  'open-control-plane-window': UpgradeCondition.controlPlaneWindowCreated,
  commence: UpgradeCondition.commenced,
  'await-control-plane': UpgradeCondition.controlPlaneUpgraded,
  'close-control-plane-window': UpgradeCondition.controlPlaneWindowRemoved,
  'open-workers-window': UpgradeCondition.workersWindowCreated,
  'await-workers': UpgradeCondition.workersUpgraded,
  'remove-capacity': UpgradeCondition.capacityRemoved,
  'close-workers-window': UpgradeCondition.workersWindowRemoved,
  'check-health-after': UpgradeCondition.healthyAfter,
  'post-upgrade-tasks': UpgradeCondition.postUpgradeTasks,
  'send-completed-notification': UpgradeCondition.completedNotificationSent,
} as const satisfies Record<string, UpgradeCondition>;
/** Name of a step. */
export type StepName = keyof typeof stepConditions;

/** Upgrade procedure of a type. */
export interface Upgrader {
  /** Steps in order; each starts when the earlier ones are done. */
  readonly steps: readonly StepName[];
  /** Gives up when nothing was changed by the end of the upgrade window (spec/muo 5.6). */
  readonly failsOutsideWindow: boolean;
}

/** Common steps of all types, from the first health check to the last. */
const COMMON: readonly StepName[] = [
  'check-health-before',
  'check-dependencies',
  'reserve-capacity',
  'open-control-plane-window',
  'commence',
  'await-control-plane',
  'close-control-plane-window',
  'open-workers-window',
  'await-workers',
  'remove-capacity',
  'close-workers-window',
  'check-health-after',
];

/**
 * Steps of a type, in order.
 * @param asksForCache with the one that holds the upgrade until its images are proven to be there
 */
export function stepNames(type: UpgradeType, asksForCache: boolean): readonly StepName[] {
  const { steps } = upgraders[type];
  return asksForCache ? steps.flatMap((step): StepName[] => (step === 'reserve-capacity' ? ['check-cache', step] : [step])) : steps;
}

/** Upgraders by the type of an UpgradeConfig (spec/muo 5.3, 5.5). A new type needs an entry, and its missing steps. */
export const upgraders: Readonly<Record<UpgradeType, Upgrader>> = {
  OSD: {
    steps: [
      'send-started-notification',
      'report-delay',
      'check-upgradable',
      ...COMMON,
      'post-upgrade-tasks',
      'send-completed-notification',
    ],
    failsOutsideWindow: true,
  },
  ARO: {
    steps: ['send-started-notification', ...COMMON, 'send-completed-notification'],
    failsOutsideWindow: false,
  },
};
