import { NotificationState } from '@flotilla/api/managed';
import { done, type Step, toldOutcome } from './step.ts';

/** Tells that the upgrade has begun. One that could not be told before the cluster was sent is told after. */
export const sendStartedNotification: Step = {
  name: 'send-started-notification',
  async run({ entry, isCommenced, notify }) {
    const isAsked = entry.notifications?.some(({ state }) => state === NotificationState.started);
    return isCommenced && !isAsked ? done : toldOutcome(await notify(NotificationState.started));
  },
};
