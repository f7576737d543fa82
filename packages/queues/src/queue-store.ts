import type { Logger, OpenBackend } from '@flotilla/runtime';

/** Log of whoever opens a store. */
export type Log = Pick<Logger, 'info' | 'warn' | 'debug'>;

/** Where keys of work queues wait. It holds work and never truth: emptying it may only cost time, and nobody believes what is in it. */
export interface QueueStore extends AsyncDisposable {
  /** `redis`: a server given by URL, which workers may share; `local-redis`: one this process started; `in-process`: none. */
  readonly kind: 'redis' | 'local-redis' | 'in-process';
  /** What was chosen and why, without secrets, for the log and the health page. */
  readonly description: string;
  /** Process id of the server this process started, while it runs. */
  readonly serverPid: () => number | undefined;
  /** Empties a server, other users' data included (FLUSHALL): what tests of "holds work, never truth" do to it. */
  readonly flush: () => Promise<void>;
  /** For `queue` of `startReconciler`; undefined: its own memory. */
  readonly queue: OpenBackend | undefined;
  /** Closes connections and ends what was started. Stop the reconcilers first. */
  close(): Promise<void>;
}
