import { Job } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import type { z } from 'zod';

type Running = z.output<typeof Job.schema>;
/** Stands for the controllers and nodes that would run Jobs. */
interface JobEnds extends AsyncDisposable {
  /** Names of the Jobs that have succeeded, one for each. */
  names(): string[];
}

/** From now on every Job of a cluster succeeds as soon as it is there. */
export function startJobEnds(client: Client): JobEnds {
  const ended = new Map<string, string>();
  const ending = new AbortController();
  const end = async ({ metadata: { uid = '', namespace, name, creationTimestamp: time } }: Running): Promise<void> => {
    if (ended.has(uid)) return;
    const condition = (type: string) => ({ type, status: 'True', reason: 'CompletionsReached', lastTransitionTime: time });
    const conditions = ['SuccessCriteriaMet', 'Complete'].map(condition);
    const status = { succeeded: 1, startTime: time, completionTime: time, conditions };
    await client.patch(Job, { namespace, name }, { status }, { type: 'merge', subresource: 'status' });
    ended.set(uid, name);
  };
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const { items, resourceVersion } = await client.list(Job, { signal: ending.signal });
      for (const job of items) await end(job);
      for await (const event of client.watch(Job, { resourceVersion, signal: ending.signal }))
        if (event.type === 'ADDED') await end(event.object);
    }
  };
  const running = run().catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  return {
    names: () => [...ended.values()],
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
    },
  };
}
