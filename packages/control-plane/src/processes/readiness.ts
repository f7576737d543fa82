import { setTimeout as delay } from 'node:timers/promises';
import { ServerStartError } from '../errors.ts';
import { logEnd, type ServerProcess } from './server-process.ts';

interface ReadinessOptions {
  /** Words for the message, such as `kube-apiserver /readyz`. */
  readonly what: string;
  /** True when ready; an exception counts as not yet. */
  readonly check: () => Promise<boolean>;
  /** Processes that must keep running meanwhile. */
  readonly processes: readonly ServerProcess[];
  /** Milliseconds; default 120 000: a busy machine takes ten times as long as an idle one. */
  readonly timeoutMs?: number;
  /** Milliseconds between two checks; default 50. */
  readonly intervalMs?: number;
}

/**
 * Waits until a server answers. Throws ServerStartError with the end of the log when one of its processes ends
 * first or the time is over.
 */
export async function waitUntilReady(options: ReadinessOptions): Promise<void> {
  const timeoutMs = options.timeoutMs ?? 120_000;
  const end = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    const dead = options.processes.find((process) => process.hasExited());
    if (dead) throw new ServerStartError(`${dead.name} ended while it started: ${await logEnd(dead.logFile)}`);
    const ready = await options.check().catch((error: unknown) => {
      last = error;
      return false;
    });
    if (ready) return;
    if (performance.now() > end) {
      const logs = await Promise.all(options.processes.map(async ({ name, logFile }) => `${name}: ${await logEnd(logFile)}`));
      throw new ServerStartError(`${options.what} was not ready within ${timeoutMs / 1000} s; ${logs.join('; ')}`, { cause: last });
    }
    await delay(options.intervalMs ?? 50);
  }
}
