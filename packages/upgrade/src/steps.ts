/** Steps of managed upgrades as data: what the operator walks and the command line shows. */
import { UpgradeCondition, type UpgradeType } from '@flotilla/api/managed';

/** Every step there is, with the condition that says how far it is. Its code has the same name (apps/upgrade-operator/src/steps). */
export const stepConditions = {
  'send-started-notification': UpgradeCondition.startedNotificationSent,
  'report-delay': UpgradeCondition.startedNotificationSent,
  'check-upgradable': UpgradeCondition.isClusterUpgradable,
  'check-health-before': UpgradeCondition.healthyBefore,
  'check-dependencies': UpgradeCondition.dependenciesAvailable,
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

/** One way to upgrade a cluster. */
export interface Upgrader {
  /** In order; each is begun when those before it are done. */
  readonly steps: readonly StepName[];
  /** Gives up when nothing was changed by the end of the upgrade window (spec/muo 5.6). */
  readonly failsOutsideWindow: boolean;
}

/** From the first look at the cluster to the last one: what every way has. */
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

/** The ways, by the type of an UpgradeConfig (spec/muo 5.3, 5.5). Another one is another entry, and the steps that it misses. */
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
