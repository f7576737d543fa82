import { UpgradeCondition } from '@flotilla/api/managed';
import { closeWindow } from './close-window.ts';
import type { Step } from './step.ts';

/** Ends the silences of the control plane. */
export const closeControlPlaneWindow: Step = {
  name: 'close-control-plane-window',
  endsWithCommencement: false,
  run: ({ entry, ports: { silences }, signal }) => closeWindow(UpgradeCondition.controlPlaneWindowRemoved, { entry, silences, signal }),
};
