import { type Clock, type Logger, pause } from '@flotilla/runtime';
import type { ConfigSource, Provider } from '../ports.ts';

interface SyncOptions {
  readonly provider: Pick<Provider, 'refresh'>;
  readonly config: Pick<ConfigSource, 'current'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each look that succeeded. */
  readonly onSynced: (atMs: number) => void;
  /** Has a listener called when it is worth asking at once: the interval begins anew. Default never. */
  readonly onWake?: (listener: () => void) => void;
  /** In [0, 1); default Math.random. */
  readonly random?: () => number;
}

const MINUTE = 60_000;
/** After failures: a minute, doubled up to an hour. */
const LONGEST = 60 * MINUTE;
const JITTER = 0.1;

/**
 * Asks the provider again and again while this process leads: at once, then every `watchInterval`, later after failures
 * (spec/muo 3.1). The interval counts as it is when a wait begins.
 */
export async function runSync(options: SyncOptions, leading: AbortSignal): Promise<void> {
  const { provider, config, clock, logger, onSynced, random = Math.random } = options;
  let waiting = new AbortController();
  const wake = (): void => waiting.abort();
  leading.addEventListener('abort', wake, { once: true });
  options.onWake?.(wake);
  for (let failures = 0; !leading.aborted; ) {
    waiting = new AbortController();
    const { source, watchInterval = 1 } = config.current().config?.configManager ?? {};
    if (source === undefined) {
      // Nobody provides anything: a change of the configuration ends the wait.
      await pause(clock, LONGEST, waiting.signal);
      continue;
    }
    let waitMs = watchInterval * MINUTE;
    try {
      await provider.refresh(leading);
      failures = 0;
      onSynced(clock.now());
    } catch (err) {
      if (leading.aborted) return;
      waitMs = Math.min(LONGEST, MINUTE * 2 ** Math.min(failures, 10));
      failures++;
      logger.warn({ err, retryInMs: waitMs }, 'Refreshing the UpgradeConfig failed');
    }
    if (!leading.aborted) await pause(clock, jittered(waitMs, random), waiting.signal);
  }
}

/** A tenth shorter or longer, so that many clusters do not ask in one instant. */
export const jittered = (ms: number, random: () => number): number => Math.round(ms * (1 + JITTER * (2 * random() - 1)));
