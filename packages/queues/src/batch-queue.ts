import { errorMessage } from '@flotilla/api';
import type { Log, NewJob, QueueStore } from './job-store.ts';
import { keyedProducer, startKeyedWorker, toChild, toWake } from './keyed-jobs.ts';
import type { WorkerHandle } from './step-worker.ts';
import type { QueueDefinition } from './table.ts';

/** The two queues of a batch: what is done once, and what is done for each of its spokes. */
export interface BatchQueues<B, C> {
  readonly batch: QueueDefinition<B>;
  readonly child: QueueDefinition<C>;
}

export interface BatchQueueOptions<B, C> extends BatchQueues<B, C> {
  readonly store: QueueStore;
  /** Closes the queue. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * Asks for batches and their steps. Keys are deduplicated in the store, so that any process may ask; nothing is kept here, and nobody
 * is told how a run ended. Whoever asks looks whether what has to be true is true, and asks again until it is: that is free while there
 * is a job, and what makes up for an emptied store. All resolve when the store has been asked (a store that is away is logged), and
 * reject only when a payload is invalid.
 */
export interface BatchQueue<B, C> {
  /**
   * Each child gets a run, unless one waits or is under way, and the batch gets one when those have ended, whatever came of them. What is
   * added for a batch that has not begun holds it too.
   */
  add(flow: { readonly batch: B; readonly children: readonly C[] }): Promise<void>;
  /** Something has changed: a run now, or once more after the run that is under way. */
  addBatch(payload: B): Promise<void>;
  /** As addBatch, for one child. */
  addChild(payload: C): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Opens the asking side; startBatchWorker runs, in this process or others. */
export function startBatchQueue<B, C>({ store, batch, child, signal, log }: BatchQueueOptions<B, C>): BatchQueue<B, C> {
  const flows = store.flows();
  const batches = keyedProducer(store, batch, log);
  const children = keyedProducer(store, child, log);
  const addBatch = (payload: B) => batches.add(toWake(batch, batch.payload.parse(payload)));
  let closing: Promise<unknown> | undefined;
  const close = async () => {
    closing ??= Promise.all([flows.close(), batches.close(), children.close()]);
    await closing;
  };
  if (signal.aborted) void close();
  else signal.addEventListener('abort', () => void close(), { once: true });
  return {
    add: async (flow) => {
      const payload = batch.payload.parse(flow.batch);
      const payloads = flow.children.map((each) => child.payload.parse(each));
      if (closing) return;
      if (payloads.length === 0) return addBatch(payload);
      const holds = payloads.map((each) => toHold(child, each));
      try {
        await flows.add({ queue: batch.name, parent: toGate(batch, payload), childQueue: holdQueue(child), children: holds });
      } catch (error) {
        log.warn({ queue: batch.name, jobs: holds.length + 1, reason: errorMessage(error) }, 'Adding jobs failed');
      }
      // After the holds: a run that ended before them would leave them behind.
      await Promise.all(payloads.map((each) => children.add(toChild(child, each))));
    },
    addBatch: async (payload) => (closing ? undefined : addBatch(payload)),
    addChild: async (payload) => (closing ? undefined : children.add(toWake(child, child.payload.parse(payload)))),
    close,
  };
}

/**
 * BullMQ deduplicates no job of a flow, but by its id, and then drops what comes while it runs. So a flow is made of stand-ins: its
 * parent, one for each batch, wakes the batch; its children, one for each child, are never taken but removed when a run of theirs ends.
 */
const toGate = <B>(batch: QueueDefinition<B>, payload: B): NewJob => ({
  name: 'gate',
  data: payload,
  opts: { jobId: `gate/${batch.key(payload)}` },
});

const toHold = <C>(child: QueueDefinition<C>, payload: C): NewJob => ({
  name: 'hold',
  data: {},
  // Prioritized jobs are found at once when they are removed, others are searched for.
  opts: { jobId: holdId(child, payload), priority: 1 },
});

const holdQueue = ({ name }: { readonly name: string }): string => `${name}-hold`;
const holdId = <C>(child: QueueDefinition<C>, payload: C): string => `hold/${child.key(payload)}`;

/** Batches that run at the same time in this process. */
const BATCH_CONCURRENCY = 4;

export interface BatchWorkerOptions<B, C> extends BatchQueueOptions<B, C> {
  /** Children that run at the same time in this process. */
  readonly concurrency: number;
  /**
   * Idempotent. TerminalError: logged, no more runs. WaitingError: a run after its delay, or when woken. Anything else: a run after the
   * queue's back-off. What it returns is dropped.
   */
  readonly processBatch: (payload: B, signal: AbortSignal) => Promise<unknown>;
  /** As processBatch. One that waits or fails lets its batch go. */
  readonly processChild: (payload: C, signal: AbortSignal) => Promise<unknown>;
  /** How long runs may go on after close, in milliseconds; default 5 000. */
  readonly graceMs?: number;
}

/** Runs batches and children that any process asked for, never two of a key at once unless the store was emptied meanwhile. */
export function startBatchWorker<B, C>(options: BatchWorkerOptions<B, C>): WorkerHandle {
  const { store, log, graceMs, signal, batch, child } = options;
  const holds = store.producer(holdQueue(child));
  const children = startKeyedWorker({
    store,
    log,
    graceMs,
    queue: child,
    concurrency: options.concurrency,
    process: options.processChild,
    afterRun: async (payload) => {
      try {
        await holds.remove([holdId(child, payload)]);
      } catch (error) {
        log.warn({ queue: child.name, reason: errorMessage(error) }, 'Letting a batch go failed, its next run will');
      }
    },
  });
  const batches = startKeyedWorker({
    store,
    log,
    graceMs,
    queue: batch,
    concurrency: BATCH_CONCURRENCY,
    process: options.processBatch,
    processOther: async ({ data, waitForChildren }) => {
      if (await waitForChildren()) return;
      const parsed = batch.payload.safeParse(data);
      if (parsed.success) await batches.wake(parsed.data);
      else log.warn({ queue: batch.name, reason: errorMessage(parsed.error) }, 'Dropping a job with an invalid payload');
    },
  });
  let closing: Promise<void> | undefined;
  const close = async () => {
    await Promise.all([children.close(), batches.close()]);
    closing ??= holds.close();
    await closing;
  };
  if (signal.aborted) void close();
  else signal.addEventListener('abort', () => void close(), { once: true });
  return { running: () => children.running() + batches.running(), close };
}
