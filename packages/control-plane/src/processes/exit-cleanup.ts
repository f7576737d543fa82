import { errorMessage } from '@flotilla/api';

/** Ends something; called at most once by the clean-up. */
type Cleanup = () => Promise<void>;

const cleanups = new Set<Cleanup>();

/** Registers what has to be ended when the program is interrupted; returns the function that takes it back. */
function registerCleanup(cleanup: Cleanup): () => void {
  cleanups.add(cleanup);
  return () => void cleanups.delete(cleanup);
}

/**
 * Registers the end of a server for when the program is interrupted, and returns its `stop`: whoever calls it waits for the same end, the
 * clean-up too, which knows of it until it is over.
 */
export function registerStop(end: () => Promise<void>): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= end().finally(unregister);
    return stopped;
  };
  const unregister = registerCleanup(stop);
  return stop;
}

/** Ends everything that is registered, newest first. Every clean-up is tried; the first failure is thrown at the end. */
export async function runCleanups(): Promise<void> {
  const failures: unknown[] = [];
  for (const cleanup of [...cleanups].reverse()) {
    if (!cleanups.delete(cleanup)) continue;
    await cleanup().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Hooks SIGINT, SIGTERM and SIGHUP: the first one ends every server and cluster of this program and exits with
 * 128 + signal; further ones wait for that. For programs; a test runner has its own end of life.
 */
export function cleanupOnExit(onSignal: (signal: string) => void = () => undefined): void {
  let ending = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (ending) return;
      ending = true;
      onSignal(signal);
      void endProgram(EXIT_CODES[signal]);
    });
  }
}

async function endProgram(code: number): Promise<void> {
  await runCleanups().catch((error: unknown) => process.stderr.write(`Cleaning up failed: ${errorMessage(error)}\n`));
  process.exit(code);
}
