import type { UpgradeType } from '@flotilla/api/managed';
import { type StepName, stepNames } from '@flotilla/upgrade';
import type { OperatorConfig } from './operator-config/schema.ts';
import { awaitControlPlane } from './steps/await-control-plane.ts';
import { awaitWorkers } from './steps/await-workers.ts';
import { checkCache } from './steps/check-cache.ts';
import { checkDependencies } from './steps/check-dependencies.ts';
import { checkHealthAfter } from './steps/check-health-after.ts';
import { checkHealthBefore } from './steps/check-health-before.ts';
import { checkUpgradable } from './steps/check-upgradable.ts';
import { closeControlPlaneWindow, closeWorkersWindow } from './steps/close-window.ts';
import { commence } from './steps/commence.ts';
import { openControlPlaneWindow } from './steps/open-control-plane-window.ts';
import { openWorkersWindow } from './steps/open-workers-window.ts';
import { postUpgradeTasks } from './steps/post-upgrade-tasks.ts';
import { removeCapacity } from './steps/remove-capacity.ts';
import { reportDelay } from './steps/report-delay.ts';
import { reserveCapacity } from './steps/reserve-capacity.ts';
import { sendCompletedNotification } from './steps/send-completed-notification.ts';
import { sendStartedNotification } from './steps/send-started-notification.ts';
import type { Step } from './steps/step.ts';

/** The code of every step that an upgrader may list. */
const steps: Readonly<Record<StepName, Step>> = {
  'send-started-notification': sendStartedNotification,
  'report-delay': reportDelay,
  'check-upgradable': checkUpgradable,
  'check-health-before': checkHealthBefore,
  'check-dependencies': checkDependencies,
  'check-cache': checkCache,
  'reserve-capacity': reserveCapacity,
  'open-control-plane-window': openControlPlaneWindow,
  commence,
  'await-control-plane': awaitControlPlane,
  'close-control-plane-window': closeControlPlaneWindow,
  'open-workers-window': openWorkersWindow,
  'await-workers': awaitWorkers,
  'remove-capacity': removeCapacity,
  'close-workers-window': closeWorkersWindow,
  'check-health-after': checkHealthAfter,
  'post-upgrade-tasks': postUpgradeTasks,
  'send-completed-notification': sendCompletedNotification,
};

/** The steps of an upgrade, in order. */
export const stepsOf = (type: UpgradeType, { cacheProof }: Pick<OperatorConfig, 'cacheProof'>): readonly Step[] =>
  stepNames(type, cacheProof.required).map((name) => steps[name]);
