/** Log of whoever opens a store; pino's loggers are such a one. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

/** One job to add. */
export interface NewJob {
  readonly name: string;
  readonly data: unknown;
  readonly opts: {
    /** Adding an id the store holds is free. */
    readonly jobId?: string;
    readonly priority?: number;
    /** Milliseconds until it may be taken. */
    readonly delay?: number;
    /** Adding is free while the store holds a job of the same `id`, but as said by the options. */
    readonly deduplication?: {
      readonly id: string;
      /** While that job runs, one more is kept and queued when it ends: the newest. */
      readonly keepLastIfActive?: boolean;
      /** While that job is delayed, the new one takes its place. */
      readonly replace?: boolean;
    };
  };
}

/** A job that is taken when all its children have ended. */
export interface NewFlow {
  readonly queue: string;
  readonly parent: NewJob;
  readonly childQueue: string;
  /** With ids and without deduplication, which BullMQ has for no job with a parent. One the store holds may have one living parent. */
  readonly children: readonly NewJob[];
}

/** The producing side of one queue. */
export interface JobProducer {
  /** One round trip. Rejects at once when the store cannot be reached. */
  add(jobs: readonly NewJob[]): Promise<void>;
  /** Gives waiting jobs another priority; one that the store has not, or that runs, stays as it is. Never rejects. */
  promote(jobs: readonly { readonly id: string; readonly priority: number }[]): Promise<void>;
  /** Takes jobs back that do not run, which frees their parents. Rejects at once when the store cannot be reached. */
  remove(ids: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Adds parents with their children. */
export interface FlowProducer {
  /** One round trip. A parent id the store holds gets the new children too. Rejects at once when the store cannot be reached. */
  add(flow: NewFlow): Promise<void>;
  close(): Promise<void>;
}

/** The consuming side of one queue. */
export interface JobConsumer {
  /** Waits for running jobs, at most `graceMs`, then lets go of the store. */
  close(graceMs: number): Promise<void>;
}

/** A job a consumer has taken. */
export interface TakenJob {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  /** True when children were added that have not ended: the job waits for them, and its processing must end at once. */
  readonly waitForChildren: () => Promise<boolean>;
}

/** How a consumer works. */
export interface ConsumerOptions<R = void> {
  readonly concurrency: number;
  /** Runs one job; a job whose promise rejects is not run again by the store. */
  readonly process: (job: TakenJob) => Promise<R>;
  /** Told what `process` returned, once the store has forgotten the job. */
  readonly ended?: (result: R) => void;
  /** A consumer that died keeps its jobs this long, twice at most, in milliseconds; default 15 000. */
  readonly lockMs?: number | undefined;
}

/** Where queues live. It holds work and never truth: emptying it may only cost time. */
export interface QueueStore extends AsyncDisposable {
  /** `redis`: a server given by URL; `local-redis`: one this process started; `embedded`: in this process. */
  readonly kind: 'redis' | 'local-redis' | 'embedded';
  /** What was chosen and why, without secrets, for the log and the health page. */
  readonly description: string;
  /** Process id of the server this process started, while it runs. */
  readonly serverPid: () => number | undefined;
  /** Empties the whole store, other users' data included (FLUSHALL): what tests of "holds work, never truth" do to it. */
  readonly flush: () => Promise<void>;
  producer(queue: string): JobProducer;
  consumer<R = void>(queue: string, options: ConsumerOptions<R>): JobConsumer;
  flows(): FlowProducer;
  /** Closes connections and ends what was started. Close the queues first. */
  close(): Promise<void>;
}
