/** The ends of the windows: an Alertmanager that is away holds nobody up, for its silences run out by themselves. */
import { errorMessage } from '@flotilla/api';
import { UpgradeCondition, type UpgradeHistory } from '@flotilla/api/managed';
import { conditionOf, isTrue } from '@flotilla/upgrade';
import type { Silences } from '../ports.ts';
import { done, failed, MINUTE, type Step, type StepOutcome } from './step.ts';

/** Call that closes each window, by the condition that reports it. */
const CLOSINGS = {
  [UpgradeCondition.controlPlaneWindowRemoved]: (silences, signal) => silences.endControlPlane(signal),
  [UpgradeCondition.workersWindowRemoved]: (silences, signal) => silences.endWorkers(signal),
} as const satisfies Readonly<Record<string, (silences: Silences, signal: AbortSignal) => Promise<void>>>;
type ClosingCondition = keyof typeof CLOSINGS;

/** Closes a window, unless it is closed. One that cannot be closed is said to be open and tried again, and what comes after it begins. */
export async function closeWindow(
  type: ClosingCondition,
  { entry, silences, signal }: { readonly entry: UpgradeHistory; readonly silences: Silences; readonly signal: AbortSignal },
): Promise<StepOutcome> {
  if (isTrue(entry, type)) return done;
  try {
    await CLOSINGS[type](silences, signal);
    return done;
  } catch (error) {
    return { ...failed(errorMessage(error)), goesOn: true, lookAgainMs: MINUTE };
  }
}

/** Ends the silences of the control plane. */
export const closeControlPlaneWindow: Step = {
  name: 'close-control-plane-window',
  run: ({ entry, ports: { silences }, signal }) => closeWindow(UpgradeCondition.controlPlaneWindowRemoved, { entry, silences, signal }),
};

/** Ends the silences of the workers. */
export const closeWorkersWindow: Step = {
  name: 'close-workers-window',
  run: ({ entry, ports: { silences }, signal }) => closeWindow(UpgradeCondition.workersWindowRemoved, { entry, silences, signal }),
};

/** Windows that are still to be closed: whoever has come so far says so. */
export const openWindows = (entry: UpgradeHistory): ClosingCondition[] =>
  ([UpgradeCondition.controlPlaneWindowRemoved, UpgradeCondition.workersWindowRemoved] as const).filter(
    (type) => conditionOf(entry, type) !== undefined && !isTrue(entry, type),
  );
