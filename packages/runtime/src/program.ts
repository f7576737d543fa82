import { hostname } from 'node:os';
import { errorMessage, FlotillaError, type Ref } from '@flotilla/api';
import { type Clock, systemClock } from '@flotilla/pace';
import type { Client } from './client.ts';
import { type LeaseTimes, runWithLease } from './leader-election.ts';
import { createLogger, type Logger, type LoggerOptions } from './logger.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type Listen, serveProbes } from './probes.ts';

/** Settings of every program. */
export interface ProgramConfig {
  readonly logLevel: NonNullable<LoggerOptions['level']>;
}

/** Dependencies of a program's `main`. */
export interface Program<C extends ProgramConfig> {
  readonly config: C;
  readonly logger: Logger;
  /** Served at /metrics; a program adds its own to `metrics.registry`. */
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Aborts at SIGTERM and SIGINT, and by `stop`. */
  readonly signal: AbortSignal;
  /** Where /healthz and /readyz are served; undefined: nowhere. */
  readonly port: number | undefined;
  /** Name of this process, unique among those that contend for a lease. */
  readonly identity: string;
  /** From now on /readyz says yes, unless this says why not. */
  readonly ready: (notReady?: () => string | undefined) => void;
  /** Closes something after `main` has ended, however it ends; the last one first. */
  readonly defer: (close: () => Promise<unknown>) => void;
  /** Does the work while this process holds the lease. Ends with the program, or with the work. */
  readonly lead: (lease: { readonly client: Client; readonly ref: Ref }, work: (signal: AbortSignal) => Promise<void>) => Promise<void>;
  /** Stops the program, as a signal does. */
  readonly stop: () => void;
}

/** A program. */
export interface ProgramOptions<C extends ProgramConfig> {
  /** In logs. */
  readonly name: string;
  /** Reads the configuration, once; what it throws names the setting, and ends the program with code 2. */
  readonly config: () => C;
  /** Where probes and metrics are served; default nowhere. */
  readonly listen?: (config: C) => Listen;
  /** One readable line instead of JSON. Default false. */
  readonly prettyLog?: boolean;
  /** Milliseconds that work under way may take after the signal; then the program ends with code 1. Default 25 000. */
  readonly stopWithinMs?: number;
  readonly clock?: Clock;
  /** Ends soon after its signal aborts. */
  readonly main: (program: Program<C>) => Promise<void>;
}

/** Runs a program until its `main` ends: 0 when that ends well, 1 when it throws, 2 when the configuration is wrong. */
export async function runProgram<C extends ProgramConfig>(options: ProgramOptions<C>): Promise<void> {
  const { name } = options;
  const config = attempt(name, options.config);
  if (!config) return;
  const logger = createLogger({ name, level: config.logLevel, pretty: options.prettyLog });
  const stopping = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => stopping.abort(new Error(signal));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, onSignal);
  const limit = (): void => endWithin(options.stopWithinMs ?? 25_000, logger);
  stopping.signal.addEventListener('abort', limit, { once: true });
  try {
    await run(options, { config, logger, metrics: createMetrics(), stopping, identity: `${hostname()}-${process.pid}` });
    logger.info('Stopped');
  } catch (error) {
    complain(name, error);
    // Open resources must not keep a program alive that has failed.
    process.exit(1);
  }
}

interface Running<C extends ProgramConfig> {
  readonly config: C;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly stopping: AbortController;
  readonly identity: string;
  readonly lease?: LeaseTimes | undefined;
}

/** Runs the `main` of a program, with what is around it, until it ends. */
export async function run<C extends ProgramConfig>(
  options: ProgramOptions<C>,
  { config, logger, metrics, stopping, identity, lease }: Running<C>,
): Promise<void> {
  const { clock = systemClock } = options;
  await using stack = new AsyncDisposableStack();
  let notReady: () => string | undefined = () => 'starting';
  const listen = options.listen?.(config);
  const probes = listen && stack.use(await serveProbes(listen, { notReady: () => notReady(), registry: metrics.registry }));
  const { signal } = stopping;
  await options.main({
    config,
    logger,
    metrics,
    clock,
    signal,
    port: probes?.port,
    identity,
    ready(check = () => undefined) {
      notReady = check;
    },
    defer: (close) =>
      stack.defer(async () => {
        await close().catch((err: unknown) => logger.warn({ err }, 'Closing failed'));
      }),
    lead: ({ client, ref }, work) => runWithLease({ client, ref, identity, signal, logger, metrics, onStartedLeading: work, ...lease }),
    stop: () => stopping.abort(new Error('stopped')),
  });
}

/** Undefined when the configuration is wrong, which has been said then. */
function attempt<C>(name: string, read: () => C): C | undefined {
  try {
    return read();
  } catch (error) {
    complain(name, error);
    process.exitCode = 2;
    return undefined;
  }
}

const complain = (name: string, error: unknown): void => {
  const code = error instanceof FlotillaError ? `${error.code}: ` : '';
  process.stderr.write(`${name}: ${code}${errorMessage(error)}\n`);
};

function endWithin(ms: number, logger: Logger): void {
  setTimeout(() => {
    logger.error({ afterMs: ms }, 'Not stopped in time');
    process.exit(1);
  }, ms).unref();
}
