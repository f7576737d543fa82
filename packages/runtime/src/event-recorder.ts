import { randomUUID } from 'node:crypto';
import { errorMessage, FlotillaError, type KubeObject } from '@flotilla/api';
import { Event, type EventSubject, type EventToRecord } from '@flotilla/api/core';
import { backOffMs, type Clock, pause, systemClock } from '@flotilla/pace';
import type { Client } from './client.ts';
import { ApiError, isAlreadyExists, RuntimeErrorCode } from './errors.ts';
import { eventObject } from './event-recorder-object.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { ReconcilerOptions, Trouble } from './reconciler.ts';

/** In whose name events are written. */
export interface EventRecorderOptions {
  readonly client: Client;
  /** `reportingController` of every event. */
  readonly controller: string;
  /** `reportingInstance` of every event: the host's name. */
  readonly instance: string;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Events that may wait; the oldest goes when there are more. Default 10 000. */
  readonly capacity?: number;
  /** Creates at a time. Default 4. */
  readonly concurrency?: number;
}

/** Records events on the API server: best effort, never in the caller's way. */
export interface EventRecorder {
  /** Queues an event. Never throws, never waits; what is recorded later has a later time. */
  record(event: EventToRecord): void;
  /** Resolves when no event waits any more: each was stored or given up. Never rejects. */
  flush(): Promise<void>;
  /** Takes no more events, gives those that wait two seconds, drops the rest. Never rejects. */
  close(): Promise<void>;
}

/** Each try may take this long, and there are three of them, this far apart. */
const TRY_MS = 5_000;
const TRIES = 3;
const BACK_OFF = { baseMs: 500, maxMs: 5_000 };
const CLOSE_MS = 2_000;
/** A failure of one code is logged this often at most, forbidden once. */
const SILENT_MS = 600_000;

/** Starts a recorder. Failures are logged sparsely; `flotilla_events_total` counts all of them. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, controller, instance, logger, metrics, clock = systemClock, capacity = 10_000, concurrency = 4 } = options;
  const complain = createComplaints({ controller, logger, clock });
  const waiting: KubeObject[] = [];
  const stop = new AbortController();
  const idle: (() => void)[] = [];
  let running = 0;
  let dropped = 0;
  let lastMicros = 0;
  let closed = false;

  const count = (result: 'created' | 'failed' | 'dropped', by = 1): void => metrics?.events.inc({ controller, result }, by);

  function drop(by: number): void {
    dropped += by;
    count('dropped', by);
  }

  /** Takes from the queue until it is empty; a few of these run at once. */
  async function drain(): Promise<void> {
    running += 1;
    for (let next = waiting.shift(); next; next = waiting.shift()) await store(next);
    running -= 1;
    if (running > 0) return;
    if (dropped > 0) logger.warn({ controller, dropped }, 'Dropped events that the API server did not take in time');
    dropped = 0;
    for (const resolve of idle.splice(0)) resolve();
  }

  async function store(object: KubeObject): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await client.create(Event, object, { timeoutMs: TRY_MS, signal: stop.signal });
        return count('created');
      } catch (error) {
        // The answer to an earlier try was lost.
        if (attempt > 1 && isAlreadyExists(error)) return count('created');
        if (stop.signal.aborted) return drop(1);
        if (attempt === TRIES || !isTransient(error)) return failed(error);
        const wanted = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await pause(clock, Math.max(backOffMs(BACK_OFF, attempt), Math.min(wanted, BACK_OFF.maxMs)), stop.signal);
      }
    }
  }

  function failed(error: unknown): void {
    count('failed');
    complain(error);
  }

  const recorder: EventRecorder = {
    record(event) {
      if (closed) return;
      try {
        // Never the same time twice: readers sort by it.
        lastMicros = Math.max(Math.trunc(clock.now() * 1000), lastMicros + 1);
        waiting.push(eventObject(event, { controller, instance, atMicros: lastMicros, suffix: randomUUID().slice(0, 8) }));
      } catch (error) {
        return failed(error);
      }
      if (waiting.length > capacity) {
        waiting.shift();
        drop(1);
      }
      if (running < concurrency) void drain();
    },
    flush: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
    async close() {
      closed = true;
      await Promise.race([recorder.flush(), pause(clock, CLOSE_MS, stop.signal)]);
      drop(waiting.splice(0).length);
      stop.abort();
      await recorder.flush();
    },
  };
  return recorder;
}

/** Logs failures sparsely, by their codes. */
function createComplaints({ controller, logger, clock }: Required<Pick<EventRecorderOptions, 'controller' | 'logger' | 'clock'>>) {
  const complainedAt = new Map<string, number>();
  return (error: unknown): void => {
    const code = error instanceof FlotillaError ? error.code : '';
    const [at, now] = [complainedAt.get(code), clock.now()];
    // A missing right stays missing until somebody grants it; anything else may be over and come again.
    if (at !== undefined && (code === RuntimeErrorCode.forbidden || now - at < SILENT_MS)) return;
    complainedAt.set(code, now);
    logger.warn({ controller, code, reason: errorMessage(error) }, 'Recording an event failed; more of the same are only counted');
  };
}

/** No usable answer, or one that says "not now". */
const isTransient = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);

/** Failures in a row that end before anybody reads of them. */
const PASSING_TRIES = 4;

/** True for a trouble that its object's users should hear of, once while it stays the same. */
const isWorthTelling = ({ kind, attempt, times }: Trouble): boolean =>
  kind === 'terminal' ? times === 1 : kind === 'retry' && attempt === PASSING_TRIES + 1;

/** For keys that are no object of anybody's: what went wrong is logged, and that is all. */
export const logOnly: ReconcilerOptions['onTrouble'] = async () => {};

/**
 * Reports what keeps a reconcile from ending well as a Warning event about its object: at once when it is terminal, else from the fifth failure
 * in a row on.
 * @param subjectOf the object of a key; undefined: nobody is to be told
 */
export const troubleEvents =
  (recorder: Pick<EventRecorder, 'record'>, subjectOf: (key: string) => EventSubject | undefined): ReconcilerOptions['onTrouble'] =>
  async (key, trouble) => {
    const regarding = isWorthTelling(trouble) ? subjectOf(key) : undefined;
    if (regarding) recorder.record({ type: 'Warning', reason: 'ReconcileFailed', action: 'Reconciling', note: trouble.message, regarding });
  };
