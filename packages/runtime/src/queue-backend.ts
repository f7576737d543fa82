import type { Clock } from '@flotilla/pace';
import type { Logger } from './logger.ts';

/** Port from a work queue to its backend. */
export interface BackendOptions {
  /** Processes that use the same name share the keys of a shared store. */
  readonly name: string;
  /** Runs at the same time in this process. */
  readonly concurrency: number;
  /** Runs a key, as the store has it: whoever else writes there decides what it is. Never rejects. */
  readonly run: (key: unknown) => Promise<void>;
  /** A key that was added here ran in another process. */
  readonly onRunElsewhere: (key: string) => void;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Where keys wait for their run, in order; each at most once, and never while it runs. */
export interface QueueBackend {
  /** Other processes may run keys too: who adds a key here does not know when its run begins. */
  readonly isShared: boolean;
  /** Adds a key; free while it waits, once more after the run it has. What the store loses is added again. */
  add(key: string): void;
  /** Its run began in this process. */
  begun(key: string): void;
  /** Begins no more runs; waits for those under way, at most `graceMs` if given. */
  close(graceMs: number | undefined): Promise<void>;
}

/** Opens the backend of one queue. */
export type OpenBackend = (options: BackendOptions) => QueueBackend;
