/** How what was decided to be written on the hub is written. */

import { type KubeObject, type Resource, refKey, WaitingError } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import type { HubWrite } from '@flotilla/rollout';
import { type Client, isAlreadyExists, isNotFound } from '@flotilla/runtime';
import { deleteWork } from '../../spokes/port/ending-work.ts';

/**
 * Whose an object is that stands where one of ours should be: `ours` is there already; a `leftover` goes; anything else is left alone.
 */
export type Ownership = 'ours' | 'leftover' | { readonly takenBy: string };

/** What writing for one spoke needs. */
export interface WriteDeps {
  readonly client: Client;
  readonly judge: (existing: KubeObject) => Ownership | Promise<Ownership>;
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
      if (write.kind === ManifestWork) await deleteWork(client, { metadata: { ...write.ref, uid: write.uid } });
      else await client.delete(write.kind, write.ref, { uid: write.uid });
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
    const owner = await judge(existing);
    // Created before, and not in the cache yet. One that is being deleted is created again once the cache has seen it go.
    if (owner === 'ours') return;
    const what = `${kind.kind} ${refKey(existing.metadata)}`;
    if (owner !== 'leftover') throw new WaitingError('FLOTILLA_NAME_TAKEN', `${what} belongs to ${owner.takenBy}`, TAKEN_RETRY_MS);
    await client.delete(kind, { namespace, name }, { uid: existing.metadata.uid });
    if (attempt > 0)
      throw new WaitingError('FLOTILLA_WAITING_FOR_DELETION', `${what} of an earlier upgrade is being deleted`, LEAVING_RETRY_MS);
  }
}
