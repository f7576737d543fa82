import { UpgradeCondition } from '@flotilla/api/managed';
import { closeWindow } from './close-window.ts';
import type { Step } from './step.ts';

/** Ends the silences of the workers. */
export const closeWorkersWindow: Step = {
  name: 'close-workers-window',
  endsWithCommencement: false,
  run: ({ entry, ports: { silences }, signal }) => closeWindow(UpgradeCondition.workersWindowRemoved, { entry, silences, signal }),
};
