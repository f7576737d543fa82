/** Log of whoever opens a store; pino's loggers are such a one. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

/** One job to add. Adding an id the store holds is free. */
export interface NewJob {
  readonly name: string;
  readonly data: unknown;
  readonly opts: { readonly jobId: string; readonly priority: number };
}

/** The producing side of one queue. */
export interface JobProducer {
  /** One round trip. Rejects at once when the store cannot be reached. */
  add(jobs: readonly NewJob[]): Promise<void>;
  close(): Promise<void>;
}

/** The consuming side of one queue. */
export interface JobConsumer {
  /** Waits for running jobs, at most `graceMs`, then lets go of the store. */
  close(graceMs: number): Promise<void>;
}

/** How a consumer works. */
export interface ConsumerOptions {
  readonly concurrency: number;
  /** Runs one job; a job whose promise rejects is not run again by the store. */
  readonly process: (job: { readonly id: string; readonly data: unknown }) => Promise<void>;
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
  consumer(queue: string, options: ConsumerOptions): JobConsumer;
  /** Closes connections and ends what was started. Close the queues first. */
  close(): Promise<void>;
}
