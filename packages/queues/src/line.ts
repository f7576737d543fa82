import type { StepKey } from './step-key.ts';

/** Log of whoever opens a store; pino's loggers are such a one. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

/** How a line of jobs is kept. */
export interface LineOptions {
  readonly name: string;
  /** Turns at the same time in this process. */
  readonly concurrency: number;
  /** A turn: what waited, as the store has it. Never rejects. */
  readonly take: (data: unknown) => Promise<void>;
  /** A key that was put here has had its turn in another process. */
  readonly takenElsewhere: (key: StepKey) => void;
  /** Another process that died keeps its turns this long, twice at most, in milliseconds. */
  readonly lockMs: number;
  /** Milliseconds between looks whether the store was emptied. */
  readonly watchdogMs: number;
  readonly log: Log;
}

/** Where wanted keys wait for their turn: most urgent first, then in order; each at most once, and never while it has its turn. */
export interface Line {
  /** Other processes may take turns too: who puts a key here does not know when its turn begins. */
  readonly isShared: boolean;
  /** Puts a key in line; free while it waits, once more after the turn it has. What the store loses is put again. */
  put(key: StepKey, priority: number): void;
  /** Moves a key that waits. */
  promote(key: StepKey, priority: number): void;
  /** Its turn has begun in this process. */
  taken(key: StepKey): void;
  /** No more turns; waits for those under way, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Where lines are. It holds work and never truth: emptying it may only cost time, and nobody believes what is in it. */
export interface QueueStore extends AsyncDisposable {
  /** `redis`: a server given by URL, which workers may share; `local-redis`: one this process started; `in-process`: none. */
  readonly kind: 'redis' | 'local-redis' | 'in-process';
  /** What was chosen and why, without secrets, for the log and the health page. */
  readonly description: string;
  /** Process id of the server this process started, while it runs. */
  readonly serverPid: () => number | undefined;
  /** Empties a server, other users' data included (FLUSHALL): what tests of "holds work, never truth" do to it. */
  readonly flush: () => Promise<void>;
  line(options: LineOptions): Line;
  /** Closes connections and ends what was started. Close the dispatchers first. */
  close(): Promise<void>;
}
