import { UpgradeCondition } from '@flotilla/api/managed';
import { isTrue } from '@flotilla/upgrade';
import { done, type Step } from './step.ts';

/** Ends the silences of the control plane. */
export const closeControlPlaneWindow: Step = {
  name: 'close-control-plane-window',
  endsWithCommencement: false,
  async run({ entry, ports, signal }) {
    if (!isTrue(entry, UpgradeCondition.controlPlaneWindowRemoved)) await ports.silences.endControlPlane(signal);
    return done;
  },
};
