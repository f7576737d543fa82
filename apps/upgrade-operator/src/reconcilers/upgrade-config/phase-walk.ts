/** Walks a pass from phase to phase, and saves its findings while a phase takes long. */

import { pause } from '@flotilla/runtime';
import { advanceUpgrade } from '@flotilla/upgrade';
import { lookAt, type Pass } from './phases.ts';

/** Walks as many phases as follow from one another. */
export async function throughPhases(pass: Pass): Promise<void> {
  const { draft, timers, save, logger } = pass;
  for (;;) {
    const { phase } = draft.entry;
    const look = await savingMeanwhile(pass, lookAt[phase](pass));
    pass.signal.throwIfAborted();
    const next = advanceUpgrade(phase, look);
    if (next === phase) return;
    draft.enter(next);
    logger.info({ from: phase, phase: next, version: draft.entry.version }, 'Upgrade is in another phase');
    // The provider has replaced the object, so the next pass looks at the new one.
    if (look.provider === 'replaced') {
      timers.requeueAfter(0);
      return save();
    }
    // The start must be saved before the first effect of the upgrade.
    if (next === 'Upgrading') await save();
  }
}

/** A look that takes longer is waiting for somebody: what it has found so far is saved meanwhile. */
const SLOW_MS = 1_000;

async function savingMeanwhile<T>({ clock, save, signal }: Pass, look: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const stop = AbortSignal.any([ended.signal, signal]);
  const saveOften = async (): Promise<void> => {
    while (!stop.aborted) {
      await pause(clock, SLOW_MS, stop);
      if (!stop.aborted) await save();
    }
  };
  // A save after one that is under way could arrive before it.
  const [found, saved] = await Promise.allSettled([look.finally(() => ended.abort()), saveOften()]);
  if (found.status === 'rejected') throw found.reason;
  if (saved.status === 'rejected') throw saved.reason;
  return found.value;
}
