/** What a step decided to write on the hub, and how it is written. */
import { type KubeObject, type Ref, type Resource, refKey, WaitingError } from '@flotilla/api';
import { type Client, isAlreadyExists, isNotFound } from '@flotilla/runtime';

/** One write. Writes of a plan are made in order; each is idempotent. */
export type HubWrite =
  | { readonly verb: 'create'; readonly kind: Resource; readonly object: KubeObject }
  /** Of this very object; another uid counts as gone. */
  | { readonly verb: 'delete'; readonly kind: Resource; readonly ref: Ref; readonly uid: string }
  /** JSON merge patch; an object that is gone needs none. */
  | { readonly verb: 'patch'; readonly kind: Resource; readonly ref: Ref; readonly patch: unknown };

/** The deletion of an object as it was seen. */
export const deletionOf = (kind: Resource, { metadata }: KubeObject): HubWrite => ({
  verb: 'delete',
  kind,
  ref: { namespace: metadata.namespace, name: metadata.name },
  uid: metadata.uid ?? '',
});

/**
 * Whose an object is that stands where one of ours should be: `ours` is there already; a `leftover` goes; anything else is left alone.
 */
export type Standing = 'ours' | 'leftover' | { readonly takenBy: string };

export interface WriteDeps {
  readonly client: Client;
  readonly judge: (existing: KubeObject) => Standing | Promise<Standing>;
}

/** Milliseconds until a name that is taken is looked at again. */
const TAKEN_RETRY_MS = 5_000;
/** Milliseconds until an object that is being deleted is expected to be gone. */
const LEAVING_RETRY_MS = 500;

/** Carries out one write. Throws `WaitingError` when the name belongs to something else. */
export async function applyWrite(write: HubWrite, deps: WriteDeps): Promise<void> {
  const { client } = deps;
  switch (write.verb) {
    case 'create':
      return createObject(write.kind, write.object, deps);
    case 'delete':
      await client.delete(write.kind, write.ref, { uid: write.uid });
      return;
    case 'patch':
      try {
        await client.patch(write.kind, write.ref, write.patch, { type: 'merge' });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return;
  }
}

async function createObject(kind: Resource, object: KubeObject, { client, judge }: WriteDeps): Promise<void> {
  const { namespace, name } = object.metadata;
  for (let attempt = 0; ; attempt++) {
    try {
      await client.create(kind, object);
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const existing = await client.get(kind, { namespace, name });
    if (!existing) continue;
    const standing = await judge(existing);
    // Created before, and not in the cache yet. One that is being deleted is created again once the cache has seen it go.
    if (standing === 'ours') return;
    const what = `${kind.kind} ${refKey(existing.metadata)}`;
    if (standing !== 'leftover') throw new WaitingError('FLOTILLA_NAME_TAKEN', `${what} belongs to ${standing.takenBy}`, TAKEN_RETRY_MS);
    await client.delete(kind, { namespace, name }, { uid: existing.metadata.uid });
    if (attempt > 0)
      throw new WaitingError('FLOTILLA_WAITING_FOR_DELETION', `${what} of an earlier upgrade is being deleted`, LEAVING_RETRY_MS);
  }
}
