import type { AgentHub } from '@flotilla/agent';
import { type Client, isNotFound } from '@flotilla/runtime';

/** Writes to a hub, of which so many are under way: thousands of spokes share one process and one connection pool. */
export type HubWriter = AgentHub & Pick<Client, 'create' | 'delete'>;

/** For a write to an object that may have gone meanwhile: then there is nothing to report to. Throws every other error. */
export function ignoreGone(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** Creates a writer with so many slots; writes beyond them wait in order. */
export function createHubWriter(client: Client, slots = 48): HubWriter {
  const waiting: (() => void)[] = [];
  let free = slots;
  const run = async <T>(write: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await write();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
  return {
    list: (kind, options) => client.list(kind, options),
    create: (kind, object, options) => run(() => client.create(kind, object, options)),
    patch: (kind, ref, patch, options) => run(() => client.patch(kind, ref, patch, options)),
    replace: (kind, object, options) => run(() => client.replace(kind, object, options)),
    delete: (kind, ref, options) => run(() => client.delete(kind, ref, options)),
  };
}
