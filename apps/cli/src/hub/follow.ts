import type { KubeObject, Ref, Resource } from '@flotilla/api';
import { type Client, pause, systemClock } from '@flotilla/runtime';

/** Between the end of one watch and the next list. */
const LOOK_AGAIN_MS = 500;

/** Each version of one object, the present one first and undefined where there is none, until the signal ends it. */
export async function* follow<T extends KubeObject>(
  client: Pick<Client, 'list' | 'watch'>,
  kind: Resource<T>,
  ref: Ref,
  signal: AbortSignal,
): AsyncGenerator<T | undefined> {
  const selector = { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}`, signal };
  try {
    // Again and again: a server ends each watch after some minutes.
    while (!signal.aborted) {
      const { items, resourceVersion } = await client.list(kind, selector);
      yield items[0];
      for await (const event of client.watch(kind, { ...selector, resourceVersion }))
        if (event.type !== 'BOOKMARK') yield event.type === 'DELETED' ? undefined : event.object;
      await pause(systemClock, LOOK_AGAIN_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
