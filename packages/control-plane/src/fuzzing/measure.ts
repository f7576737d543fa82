import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface Measurement {
  /** Most CPU time of this thread between two turns of its event loop, milliseconds: a busy machine does not count. */
  readonly pauseMs: number;
  readonly failed: boolean;
  readonly error?: unknown;
}

/** Runs a call to its end and looks at how it shares the event loop. */
export async function measure(run: () => unknown): Promise<Measurement> {
  let pauseMs = 0;
  let last = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    pauseMs = Math.max(pauseMs, (user + system) / 1000);
    last = process.threadCpuUsage();
  };
  let ended = false;
  const turn = (): void => {
    look();
    if (!ended) setImmediate(turn);
  };
  try {
    const running = run();
    if (running instanceof Promise) {
      setImmediate(turn);
      await running;
    }
    return { failed: false, ...end() };
  } catch (error) {
    return { failed: true, error, ...end() };
  }
  function end(): { pauseMs: number } {
    ended = true;
    look();
    return { pauseMs };
  }
}

/** Memory of this process beyond what it was at the beginning. */
export class Growth {
  #resident = 0;
  #inUse = 0;

  begin(): void {
    collectGarbage();
    this.#resident = process.memoryUsage.rss();
    this.#inUse = inUse();
  }

  /** Resident memory beyond the beginning, MiB. */
  look(): number {
    return (process.memoryUsage.rss() - this.#resident) / MIB;
  }

  /** Memory in use beyond the beginning, without garbage, MiB; resident memory counts from here. */
  collect(): number {
    collectGarbage();
    this.#resident = process.memoryUsage.rss();
    return (inUse() - this.#inUse) / MIB;
  }
}

const MIB = 2 ** 20;

function inUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
}
