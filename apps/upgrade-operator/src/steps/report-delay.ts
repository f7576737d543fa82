import { NotificationState } from '@flotilla/api/managed';
import { done, MINUTE, type Step } from './step.ts';

/** Tells when the upgrade has not changed anything some time after its start. A delay holds nothing up. */
export const reportDelay: Step = {
  name: 'report-delay',
  endsWithCommencement: true,
  async run({ entry, config, nowMs, notify }) {
    const { delayTrigger } = config.upgradeWindow;
    if (delayTrigger <= 0) return done;
    const delayedAt = Date.parse(entry.startTime ?? '') + delayTrigger * MINUTE;
    if (nowMs <= delayedAt) return { ...done, lookAgainMs: delayedAt - nowMs + 1 };
    await notify(NotificationState.delayed);
    return done;
  },
};
