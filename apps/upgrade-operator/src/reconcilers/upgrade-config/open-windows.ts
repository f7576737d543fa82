import type { Ports } from '../../ports.ts';
import { closeWindow, openWindows } from '../../steps/close-window.ts';
import type { UpgradeDraft } from './status.ts';
import type { Timers } from './timers.ts';

interface Closing {
  readonly draft: UpgradeDraft;
  readonly ports: Pick<Ports, 'silences'>;
  readonly timers: Timers;
  readonly save: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Closes what an upgrade that has ended left open, as soon as Alertmanager answers. */
export async function closeOpenWindows({ draft, ports: { silences }, timers, save, signal }: Closing): Promise<void> {
  const open = openWindows(draft.entry);
  if (open.length === 0) return;
  // The end is saved first, so that it is known before Alertmanager is waited for.
  await save();
  for (const type of open) {
    const outcome = await closeWindow(type, { entry: draft.entry, silences, signal });
    signal.throwIfAborted();
    draft.endStep(type, outcome);
    timers.lookAgain(outcome.lookAgainMs);
  }
}
