import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { LeaseTimes } from '../src/leader-election.ts';
import { createLogger, type LoggerOptions } from '../src/logger.ts';
import { createMetrics } from '../src/metrics.ts';
import { type ProgramConfig, type ProgramOptions, run } from '../src/program.ts';

/** A process that runs programs beside other things. */
interface Host {
  /** Stops the program when it aborts. */
  readonly signal: AbortSignal;
  /** Gets its log; default: stdout. */
  readonly log?: LoggerOptions['destination'];
  /** Name of the program among those that contend for a lease; default: one of its own. */
  readonly identity?: string;
  /** Times of its leases; default: those of every program, by the machine's time, since others who contend for one know no other. */
  readonly lease?: LeaseTimes;
}

/**
 * Runs a program beside whatever else runs in this process: no signal is caught and no exit code set. Resolves when it has ended, soon after
 * the host's signal. Throws what its configuration or its `main` throws.
 */
export async function embedProgram<C extends ProgramConfig>(options: ProgramOptions<C>, { signal, log, ...host }: Host): Promise<void> {
  const config = options.config();
  const logger = createLogger({ name: options.name, level: config.logLevel, ...(log && { destination: log }) });
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    // One process may hold several that contend for one lease.
    const { identity = `${hostname()}-${process.pid}-${randomUUID()}`, lease } = host;
    // Its heap and its event loop are those of the host, which measures them itself if anybody does.
    await run(options, { config, logger, metrics: createMetrics({ process: false }), stopping, identity, lease });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
