import { createHash } from 'node:crypto';
import { isJsonObject, type KubeObject, mergePatch, type Resource } from '@flotilla/api';
import type { Client } from './client.ts';
import { isNotFound } from './errors.ts';
import type { RefusedValues } from './refused-values.ts';

interface StatusOptions {
  readonly signal?: AbortSignal;
  /** Values that this server refused before: the status is written without them, and without those that it refuses now. Default: none is left out. */
  readonly refused?: RefusedValues | undefined;
}

interface PatchOptions extends StatusOptions {
  /** The kind's CRD has it; default true. */
  readonly subresource?: boolean;
  /** Memory of this object. Default: a status of which the server drops a part is sent each time. */
  readonly sent?: SentStatus;
}

/**
 * Patches what differs between the object's status and this one, and nothing when that is nothing. Refused with a conflict when the
 * object has changed since it was read, or its name belongs to another by now.
 * @returns the object as stored; undefined when there was nothing to write, or nobody to tell: it is gone
 */
export async function patchStatus<T extends KubeObject>(
  client: Pick<Client, 'patch'>,
  kind: Resource<T>,
  object: KubeObject & { readonly status?: unknown },
  status: unknown,
  options: PatchOptions = {},
): Promise<T | undefined> {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const { signal, refused, sent, subresource = true } = options;
  return writeTaken(status, refused, async (taken) => {
    const changes = mergePatch(isJsonObject(object.status) ? object.status : {}, taken);
    if (changes === undefined || sent?.isLast(object, taken)) return undefined;
    const patch = { metadata: { uid, resourceVersion }, status: changes };
    const stored = await client.patch(kind, { namespace, name }, patch, {
      type: 'merge',
      signal,
      ...(subresource && { subresource: 'status' }),
    });
    sent?.note(stored, taken);
    return stored;
  });
}

/**
 * PUTs the status of an object under the version it was read in, where it differs: for who may do no more, and for nulls, which a merge patch
 * cannot write.
 * @returns as `patchStatus`
 */
export function replaceStatus<T extends KubeObject & { readonly status?: unknown }>(
  client: Pick<Client, 'replace'>,
  kind: Resource<T>,
  object: T,
  status: T['status'],
  { signal, refused }: StatusOptions = {},
): Promise<T | undefined> {
  return writeTaken(status, refused, async (taken) =>
    mergePatch(object.status ?? {}, taken) === undefined
      ? undefined
      : client.replace(kind, { ...object, status: taken }, { subresource: 'status', signal }),
  );
}

/** Remembers the last status that was sent of an object: a server whose definition drops fields of it is not sent the same again. */
export class SentStatus {
  #last = '';

  /** True when this status was sent last, and the object has not changed since. */
  isLast(object: Pick<KubeObject, 'metadata'>, status: unknown): boolean {
    return this.#last === markOf(object, status);
  }

  /** @param stored the object as the answer has it */
  note(stored: Pick<KubeObject, 'metadata'>, status: unknown): void {
    this.#last = markOf(stored, status);
  }
}

const markOf = ({ metadata }: Pick<KubeObject, 'metadata'>, status: unknown): string =>
  `${metadata.resourceVersion} ${createHash('sha256').update(JSON.stringify(status)).digest('base64')}`;

/** Each try leaves out what the last one was refused for; an entry of a list may go field by field first. */
const MOST_TRIES = 8;

/**
 * Writes a status as far as the server takes it: once more without each value that it refuses.
 * @param write gets the status without refused values
 * @returns what `write` returns; undefined for an object that is gone
 */
export async function writeTaken<S, T>(
  status: S,
  refused: RefusedValues | undefined,
  write: (taken: S) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let tries = 1; ; tries++) {
    const taken = refused ? refused.without(status) : status;
    try {
      return await write(taken);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (tries >= MOST_TRIES || !refused?.learn(taken, error)) throw error;
    }
  }
}
