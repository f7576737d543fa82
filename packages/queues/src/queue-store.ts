import type { Logger, OpenBackend } from '@flotilla/runtime';

/** Log of the store's opener. */
export type Log = Pick<Logger, 'info' | 'warn' | 'debug'>;

/** Store of work queues' keys. It holds work and never truth: emptying it may only cost time, and nothing trusts its content. */
export interface QueueStore extends AsyncDisposable {
  /** `redis`: a server by URL, which workers may share; `local-redis`: one of this process; `in-process`: none. */
  readonly kind: 'redis' | 'local-redis' | 'in-process';
  /** Choice of the store and its reason, without secrets, for the log and the health page. */
  readonly description: string;
  /** Process id of the server that this process started, while it runs. */
  readonly serverPid: () => number | undefined;
  /** False while the server does not answer and keys wait in this process. */
  readonly isReachable: () => boolean;
  /** Empties a server with FLUSHALL, even other users' data; tests of "holds work, never truth" use it. */
  readonly flush: () => Promise<void>;
  /** Value for `queue` of `startReconciler`; undefined: its own memory. */
  readonly queue: OpenBackend | undefined;
  /** Closes connections and ends the server of this process. Stop the reconcilers first. */
  close(): Promise<void>;
}
