import { NotificationState } from '@flotilla/api/managed';
import { describePaused } from '@flotilla/upgrade';
import { type Step, toldOutcome } from './step.ts';

/** Tells that the upgrade is done. */
export const sendCompletedNotification: Step = {
  name: 'send-completed-notification',
  run: async ({ cluster, notify }) => toldOutcome(await notify(NotificationState.completed, describePaused(cluster.pools))),
};
