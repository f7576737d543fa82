import { type Client, isNotFound } from '@flotilla/runtime';

/** Bounds how many writes to the hub are under way: thousands of spokes share one process and one connection pool. */
export interface HubWriter {
  run<T>(write: (client: Client) => Promise<T>): Promise<T>;
}

/** For a write to an object that may have gone meanwhile: then there is nothing to report to. Throws every other error. */
export function ignoreGone(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** Creates a writer with so many slots; writes beyond them wait in order. */
export function createHubWriter(client: Client, slots = 48): HubWriter {
  const waiting: (() => void)[] = [];
  let free = slots;
  return {
    async run(write) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await write(client);
      } finally {
        const next = waiting.shift();
        if (next) next();
        else free += 1;
      }
    },
  };
}
