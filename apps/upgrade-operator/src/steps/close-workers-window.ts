import { UpgradeCondition } from '@flotilla/api/managed';
import { isTrue } from '@flotilla/upgrade';
import { done, type Step } from './step.ts';

/** Ends the silences of the workers. */
export const closeWorkersWindow: Step = {
  name: 'close-workers-window',
  endsWithCommencement: false,
  async run({ entry, ports, signal }) {
    if (!isTrue(entry, UpgradeCondition.workersWindowRemoved)) await ports.silences.endWorkers(signal);
    return done;
  },
};
