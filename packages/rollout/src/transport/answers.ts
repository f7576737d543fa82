/** Reads the answer of a view, and the outcome of an action, whatever they are for (spec/ocm 1.3, 1.12). Pure. */
import { Annotation, findCondition, foreign, isJsonObject } from '@flotilla/api';
import {
  ACTION_COMPLETED,
  ActionReason,
  type ManagedClusterAction,
  type ManagedClusterView,
  VIEW_PROCESSING,
  ViewReason,
} from '@flotilla/api/ocm';
import { z } from 'zod';

/** Kind and identity of the object a view asks for; an answer about anything else is no answer. */
export interface ViewTarget {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Anything that is neither the object asked for nor its certain absence is unknown. */
export type ViewAnswer<T> =
  | { readonly kind: 'pending' }
  | { readonly kind: 'found'; readonly object: T }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly message: string };

/** Identity that every object asked for states of itself. */
interface Identified {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

/** Most characters told of an answer that is none. */
const MAX_TOLD = 512;

/**
 * Reads a view of one object; an answer about another one is none.
 * @param trusted what the view shows is the object that was asked for, whatever it is called there, as the reference takes it; default false
 */
export function readViewAnswer<T extends Identified>(
  view: ManagedClusterView,
  schema: z.ZodType<T>,
  target: ViewTarget,
  { trusted = false }: { readonly trusted?: boolean } = {},
): ViewAnswer<T> {
  const condition = findCondition(view.status?.conditions, VIEW_PROCESSING);
  if (!condition) return { kind: 'pending' };
  if (condition.status === 'True' && condition.reason === ViewReason.getting) {
    const result = view.status?.result;
    const object = foreign(schema).safeParse(trusted ? identified(result, target) : result);
    if (!object.success)
      return { kind: 'unknown', message: `the answer cannot be used: ${z.prettifyError(object.error).slice(0, MAX_TOLD)}` };
    const { kind, metadata } = object.data;
    const same = kind === target.kind && metadata.name === target.name && metadata.namespace === target.namespace;
    return same
      ? { kind: 'found', object: object.data }
      : { kind: 'unknown', message: `the answer is about ${kind} ${metadata.name}`.slice(0, MAX_TOLD) };
  }
  if (condition.reason === ViewReason.getFailed && condition.message.endsWith('not found')) return { kind: 'absent' };
  return { kind: 'unknown', message: condition.message };
}

/** The object under the identity that was asked for. */
function identified(result: unknown, { kind, name, namespace }: ViewTarget): unknown {
  const object = isJsonObject(result) ? result : {};
  return { ...object, kind, metadata: { ...(isJsonObject(object.metadata) && object.metadata), name, namespace } };
}

/** Outcome of an action, whatever it is for. */
export interface ActionOutcome {
  readonly retries: number;
  /** `executed` also when the object was there already, or gone already: the post-condition holds. */
  readonly outcome: 'pending' | 'executed' | 'failed';
  readonly message: string;
  /** Milliseconds since the epoch, by the hub's API server. */
  readonly createdAt: number;
  /** Milliseconds since the epoch when the outcome was reported, by the spoke's own clock. */
  readonly completedAt: number;
}

/** Reads what became of an action. */
export function observeOutcome({ metadata, status }: ManagedClusterAction): ActionOutcome {
  const condition = findCondition(status?.conditions, ACTION_COMPLETED);
  return {
    retries: countOf(metadata.annotations?.[Annotation.retries]),
    outcome: condition ? (condition.status === 'True' || isPostConditionMet(condition) ? 'executed' : 'failed') : 'pending',
    message: condition?.message ?? '',
    createdAt: Date.parse(metadata.creationTimestamp ?? '') || 0,
    completedAt: (condition && Date.parse(condition.lastTransitionTime)) || 0,
  };
}

/**
 * When an action ended: a spoke whose clock is ahead must not be waited for, nor one that is behind be asked without a pause.
 * @param now milliseconds since the epoch
 */
export const endedAt = ({ createdAt, completedAt }: ActionOutcome, now: number): number =>
  completedAt > now ? createdAt : Math.max(completedAt, createdAt);

/** Create of what exists, delete of what is gone: refused, and yet what was asked for holds (spec/ocm 1.3). */
function isPostConditionMet({ reason, message }: { reason: string; message: string }): boolean {
  return (
    (reason === ActionReason.createFailed && message.endsWith('already exists')) ||
    (reason === ActionReason.deleteFailed && message.endsWith('not found'))
  );
}

/** The number in an annotation; 0 for anything that is none. */
export function countOf(annotation = '0'): number {
  const count = Number(annotation);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}
