import { NotificationState } from '@flotilla/api/managed';
import { type Step, toldOutcome } from './step.ts';

/** Tells that the upgrade is done. */
export const sendCompletedNotification: Step = {
  name: 'send-completed-notification',
  endsWithCommencement: false,
  run: async ({ notify }) => toldOutcome(await notify(NotificationState.completed)),
};
