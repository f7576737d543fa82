/** Applies planned writes on the hub, and deletes works that are too large for a deletion timestamp. */

import { type KubeObject, type Ref, type Resource, refKey, WaitingError } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import type { HubWrite } from '@flotilla/rollout';
import { type Client, createMissing, isConflict, isNotFound, isTooLarge, type Logger } from '@flotilla/runtime';

/** A planned write. */
export type Write =
  | HubWrite
  /** Deletes everything that the selector finds; `objects` are the known ones. */
  | {
      readonly verb: 'deleteCollection';
      readonly kind: Resource;
      readonly namespace: string;
      readonly labelSelector: string;
      readonly objects: readonly KubeObject[];
    }
  /** Stops the plan while the server has the object: the cache behind the plan is stale. */
  | { readonly verb: 'confirmAbsent'; readonly kind: Resource; readonly ref: Ref };

/** Owner of an object that has a planned object's name: `ours` exists already; a `leftover` is deleted; `takenBy` is left alone. */
export type Ownership = 'ours' | 'leftover' | { readonly takenBy: string };

/** A cache that records writes, so that the next plan of this process includes them. */
interface WrittenCache {
  readonly kind: Resource;
  wrote(object: KubeObject): void;
  deleted(ref: Ref, uid: string | undefined): void;
}

/** Dependencies of `applyWrites`. */
export interface ApplyDeps {
  readonly client: Client;
  /** Caches behind the plan, at most one per kind. */
  readonly caches: readonly WrittenCache[];
  readonly decideOwner: (existing: KubeObject, kind: Resource) => Ownership | Promise<Ownership>;
  /** Stops further writes: another process may have the spoke by then. */
  readonly signal: AbortSignal;
  /** Logs each write at debug level. */
  readonly logger?: Logger | undefined;
}

/** Milliseconds until a taken name is tried again. */
const TAKEN_RETRY_MS = 5_000;
/** Milliseconds until an object under deletion is expected to be gone. */
const LEAVING_RETRY_MS = 500;
/** Tries to create an object whose name is taken. */
const CREATE_ATTEMPTS = 2;
/** Milliseconds until a stale cache is expected to have caught up. */
const BEHIND_RETRY_MS = 500;

/**
 * Describes writes; equal descriptions mean equal effects. A created object counts by its name, because its content follows from the upgrade's spec.
 */
export const describeWrites = (writes: readonly Write[]): string =>
  writes.map((write) => `${write.verb} ${write.kind.kind} ${describeTarget(write)}`).join();

function describeTarget(write: Write): string {
  switch (write.verb) {
    case 'create':
      return write.object.metadata.name;
    case 'delete':
      return `${write.ref.name} ${write.uid}`;
    case 'patch':
      return `${write.ref.name} ${write.says ?? JSON.stringify(write.patch)}`;
    case 'deleteCollection':
      return write.labelSelector;
    case 'confirmAbsent':
      return write.ref.name;
  }
}

/**
 * Applies the writes in order. Throws `WaitingError` when a name belongs to another owner, or when the plan's cache is stale. A conflict is thrown as
 * it is, so that the step is planned anew.
 */
export async function applyWrites(writes: readonly Write[], deps: ApplyDeps): Promise<void> {
  for (const write of writes) {
    deps.signal.throwIfAborted();
    await applyWrite(write, deps);
    const name = write.verb === 'create' ? write.object.metadata.name : 'ref' in write ? write.ref.name : write.labelSelector;
    deps.logger?.debug({ verb: write.verb, kind: write.kind.kind, name }, 'Wrote');
  }
}

async function applyWrite(write: Write, deps: ApplyDeps): Promise<void> {
  const { client } = deps;
  const cache = cacheOf(write.kind, deps);
  switch (write.verb) {
    case 'create':
      return createObject(write.kind, write.object, deps);
    case 'delete':
      return deleteObject(write.kind, write.ref, write.uid, deps);
    case 'deleteCollection':
      await client.deleteCollection(write.kind, { namespace: write.namespace, labelSelector: write.labelSelector }).catch(unlessEmpty);
      for (const { metadata } of write.objects) cache?.deleted(metadata, metadata.uid);
      return;
    case 'patch':
      try {
        const patched = await client.patch(write.kind, write.ref, write.patch, { type: Array.isArray(write.patch) ? 'json' : 'merge' });
        cache?.wrote(patched);
      } catch (error) {
        // The watch will deliver the deletion, which brings the next plan.
        if (!isNotFound(error)) throw error;
      }
      return;
    case 'confirmAbsent':
      if (await client.get(write.kind, write.ref))
        throw new WaitingError('FLOTILLA_CACHE_BEHIND', `${write.kind.kind} ${refKey(write.ref)} is still there`, BEHIND_RETRY_MS);
  }
}

/** A kind that is not served, or a namespace that is not there, has nothing to delete; the plan's other writes follow. */
function unlessEmpty(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

const cacheOf = (kind: Resource, { caches }: ApplyDeps): WrittenCache | undefined => caches.find((cache) => cache.kind === kind);

async function deleteObject(kind: Resource, ref: Ref, uid: string | undefined, deps: ApplyDeps): Promise<void> {
  if (kind === ManifestWork) await deleteWork(deps.client, { metadata: { ...ref, uid } });
  else await deps.client.delete(kind, ref, { uid });
  cacheOf(kind, deps)?.deleted(ref, uid);
}

async function createObject(kind: Resource, object: KubeObject, deps: ApplyDeps): Promise<void> {
  const { namespace, name } = object.metadata;
  for (let attempt = 1; attempt <= CREATE_ATTEMPTS; attempt++) {
    const created = await createMissing(deps.client, kind, object);
    if (created) return cacheOf(kind, deps)?.wrote(created);
    const existing = await deps.client.get(kind, { namespace, name });
    // The object was created before and is not in the cache yet. An object under deletion is created again after the cache has seen its end.
    if (existing && (await clearName(kind, existing, deps)) === 'ours') return;
  }
  throw new WaitingError('FLOTILLA_WAITING_FOR_DELETION', `${kind.kind} ${refKey({ namespace, name })} is being deleted`, LEAVING_RETRY_MS);
}

/** Deletes a leftover. Throws `WaitingError` when the object has another owner. */
async function clearName(kind: Resource, existing: KubeObject, deps: ApplyDeps): Promise<'ours' | 'leftover'> {
  const { namespace, name, uid } = existing.metadata;
  const owner = await deps.decideOwner(existing, kind);
  if (typeof owner === 'object')
    throw new WaitingError('FLOTILLA_NAME_TAKEN', `${kind.kind} ${refKey(existing.metadata)} belongs to ${owner.takenBy}`, TAKEN_RETRY_MS);
  if (owner === 'leftover') await deleteObject(kind, { namespace, name }, uid, deps);
  return owner;
}

/** Deletes a work. A work without room for its deletion timestamp goes at once, without its agent's clean-up. */
export async function deleteWork(client: Client, work: Pick<ManifestWork, 'metadata'>): Promise<void> {
  const { uid } = work.metadata;
  try {
    await client.delete(ManifestWork, work.metadata, { uid });
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    await dismantleWork(client, work);
  }
}

/**
 * Deletes a work without its agent's clean-up: removes all finalizers.
 * @param more further fields to clear first, in case a finalizer is set again
 */
export async function dismantleWork(
  client: Client,
  { metadata: { namespace, name, uid } }: Pick<ManifestWork, 'metadata'>,
  more: { readonly spec?: null } = {},
): Promise<void> {
  const ref = { namespace, name };
  const strip = () =>
    client.patch(ManifestWork, ref, { metadata: { uid, finalizers: null, managedFields: [{}] }, ...more }, { type: 'merge' });
  const stripAll = async (refusal: unknown) => {
    if (isNotFound(refusal) || isConflict(refusal)) throw refusal;
    // A server rejects every write to a status that predates its limits.
    const empty = { metadata: { uid }, status: null };
    await client.patch(ManifestWork, ref, empty, { type: 'merge', subresource: 'status' }).catch(() => Promise.reject(refusal));
    return strip();
  };
  try {
    await strip().catch(stripAll);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  await client.delete(ManifestWork, ref, { uid });
}
