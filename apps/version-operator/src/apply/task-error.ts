import { type UpdateError, updateErrorOf } from '@flotilla/release';
import { ApiError, RuntimeErrorCode } from '@flotilla/runtime';

/** Reasons of refusals that came without one. */
const byCode: Readonly<Record<string, string>> = {
  [RuntimeErrorCode.timeout]: 'Timeout',
  [RuntimeErrorCode.unreachable]: 'ServiceUnavailable',
  [RuntimeErrorCode.execPlugin]: 'ServiceUnavailable',
  [RuntimeErrorCode.throttled]: 'TooManyRequests',
  [RuntimeErrorCode.badAnswer]: 'UnexpectedServerError',
  [RuntimeErrorCode.tooLarge]: 'UnexpectedServerError',
};

/** The error of a task as conditions show it (spec/cvo 2.8), with what the server said: people have to act on it. */
export function taskError(task: string, cause: unknown): UpdateError {
  if (!(cause instanceof ApiError)) return updateErrorOf(task, { cause });
  return updateErrorOf(task, { cause, reason: cause.reason || byCode[cause.code], said: cause.serverMessage || cause.message });
}

interface UnservedKind {
  readonly kind: string;
  readonly apiVersion: string;
  /** Why the server that would serve it does not, where that is known. */
  readonly away: string | undefined;
}

/** The error of a task whose kind the server does not serve. */
export function unservedError(task: string, { kind, apiVersion, away }: UnservedKind): UpdateError {
  const said = `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`;
  return updateErrorOf(task, { reason: 'NoMatch', said: away === undefined ? said : `${said}: ${away}` });
}

/** The error of a task whose namespace is not there: the server would refuse it in these words. */
export const namespaceError = (task: string, namespace: string): UpdateError =>
  updateErrorOf(task, { reason: 'NotFound', said: `namespaces ${JSON.stringify(namespace)} not found` });
