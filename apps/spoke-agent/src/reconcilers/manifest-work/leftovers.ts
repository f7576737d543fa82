import type { WorkRecords } from '@flotilla/agent';
import { errorMessage } from '@flotilla/api';
import { type Clock, type Logger, pause } from '@flotilla/runtime';

const LOOK_EVERY_MS = 600_000;
const RETRY_MS = 10_000;

interface RecordedDeps {
  readonly records: Pick<WorkRecords, 'works'>;
  readonly enqueue: (work: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Has works with a record looked at, because one that went while the agent was away causes no event. */
export async function lookAtRecorded({ records, enqueue, clock, logger }: RecordedDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    let waitMs = LOOK_EVERY_MS;
    try {
      for (const work of await records.works()) enqueue(work);
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, 'Listing the records of works failed');
      waitMs = RETRY_MS;
    }
    await pause(clock, waitMs, signal);
  }
}
