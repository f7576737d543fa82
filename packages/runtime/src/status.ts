import { type Condition, isJsonObject, type KubeObject, mergePatch, type Resource, withCondition } from '@flotilla/api';
import type { Client } from './client.ts';
import { isNotFound } from './errors.ts';

/** What a kind says about a condition; generation and time are added. */
export type ConditionUpdate = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;

/** Where a condition stands among the others, and when its time moves. Returns a new list. */
export type ConditionRule = (conditions: readonly Condition[], next: Omit<Condition, 'lastTransitionTime'>, nowMs: number) => Condition[];

/** What one reconcile has to say of an object. */
export interface StatusUpdate {
  /** Fields of the status beside its conditions, each whole; undefined takes it away. Others stay. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Conditions that are said anew; others stay. */
  readonly conditions?: readonly ConditionUpdate[];
  /** Default: as `meta.SetStatusCondition`. */
  readonly rule?: ConditionRule;
}

type WithStatus = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] | null | undefined } | null | undefined };

/** An object's status after an update; conditions carry the generation they were judged for. Pure. */
export function statusAfter(object: WithStatus, { fields, conditions = [], rule = withCondition }: StatusUpdate, nowMs: number) {
  const before: readonly Condition[] = object.status?.conditions ?? [];
  const { generation: observedGeneration } = object.metadata;
  const after = conditions.reduce((all, next) => rule(all, { ...next, ...(observedGeneration && { observedGeneration }) }, nowMs), before);
  return { ...object.status, ...fields, ...(conditions.length > 0 && { conditions: [...after] }) };
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
  options: { readonly signal?: AbortSignal /** The kind's CRD has it; default true. */; readonly subresource?: boolean } = {},
): Promise<T | undefined> {
  const changes = mergePatch(isJsonObject(object.status) ? object.status : {}, status);
  if (changes === undefined) return undefined;
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const { signal, subresource = true } = options;
  const patch = { metadata: { uid, resourceVersion }, status: changes };
  return unlessGone(
    client.patch(kind, { namespace, name }, patch, { type: 'merge', signal, ...(subresource && { subresource: 'status' }) }),
  );
}

/** PUTs the status of an object under the version it was read in, for who may do no more; undefined when it is gone. */
export const replaceStatus = <T extends KubeObject>(
  client: Pick<Client, 'replace'>,
  kind: Resource<T>,
  object: T,
): Promise<T | undefined> => unlessGone(client.replace(kind, object, { subresource: 'status' }));

async function unlessGone<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
