import { type ObjectVerdict, type UpdateError, updateErrorOf } from '@flotilla/release';
import { ApiError, isNotFound, RuntimeErrorCode } from '@flotilla/runtime';
import { kindServed } from '../cluster/kinds.ts';
import type { Wanted } from '../payload/wanted.ts';

/** Reason for which a manifest is not done, and keys whose wake-up may change it. */
export interface Held {
  /** `trouble`: a request failed, and is sent again. */
  readonly why: 'waiting' | 'failed' | 'trouble';
  readonly error: UpdateError;
  readonly wakes: readonly string[];
}

/** End of one step: done, possibly with an error to report, or held up. */
export type StepEnd = { readonly done: true; readonly reported?: UpdateError } | { readonly done: false; readonly held: Held };

/** Reasons of refusals that came without one. */
const byCode: Readonly<Record<string, string>> = {
  [RuntimeErrorCode.timeout]: 'Timeout',
  [RuntimeErrorCode.unreachable]: 'ServiceUnavailable',
  [RuntimeErrorCode.execPlugin]: 'ServiceUnavailable',
  [RuntimeErrorCode.throttled]: 'TooManyRequests',
  [RuntimeErrorCode.badAnswer]: 'UnexpectedServerError',
  [RuntimeErrorCode.tooLarge]: 'UnexpectedServerError',
};

/** The error of a task as conditions show it (spec/cvo 2.8), with what the server said: people have to act on it. @param more what is known of it besides */
export function taskError(task: string, cause: unknown, more?: string): UpdateError {
  if (!(cause instanceof ApiError)) return updateErrorOf(task, { cause });
  const said = cause.serverMessage || cause.message;
  return updateErrorOf(task, { cause, reason: cause.reason || byCode[cause.code], said: more === undefined ? said : `${said}: ${more}` });
}

/** Ends a step by the verdict about its object. */
export const heldBy = (wanted: Wanted, verdict: ObjectVerdict): StepEnd =>
  verdict.is === 'ready'
    ? { done: true }
    : { done: false, held: { why: verdict.is === 'failed' ? 'failed' : 'waiting', error: verdict.error, wakes: [wanted.key] } };

/** Ends a step whose request failed: it is repeated when its object, its kind or its namespace comes, and after a while anyway. */
export function trouble(wanted: Wanted, error: UpdateError, cause?: unknown): StepEnd {
  const namespaces = cause instanceof ApiError && isNotFound(cause) ? [namespaceKey(wanted)] : [];
  return { done: false, held: { why: 'trouble', error, wakes: [wanted.key, kindServed(wanted.kindKey), ...namespaces] } };
}

/** Ends a step whose kind the server does not serve. @param away why the server that would serve it does not, where that is known */
export function unserved(task: string, wanted: Wanted, away: string | undefined): StepEnd {
  const { kind, object } = wanted.manifest;
  const said = `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(String(object.apiVersion))}`;
  return trouble(wanted, updateErrorOf(task, { reason: 'NoMatch', said: away === undefined ? said : `${said}: ${away}` }));
}

/** Ends a step whose namespace is not there: the server would refuse it in these words, so the request is saved. */
export function withoutNamespace(task: string, wanted: Wanted): StepEnd {
  const said = `namespaces ${JSON.stringify(wanted.manifest.namespace)} not found`;
  const error = updateErrorOf(task, { reason: 'NotFound', said });
  return { done: false, held: { why: 'trouble', error, wakes: [namespaceKey(wanted), wanted.key] } };
}

const namespaceKey = ({ manifest }: Wanted): string => `/v1/Namespace|${manifest.namespace}`;
