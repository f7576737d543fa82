import { UpdateError, updateErrorOf } from '@flotilla/release';
import { ApiError, RuntimeErrorCode } from '@flotilla/runtime';

/** Reasons of refusals that came without one. */
const byCode: Readonly<Record<string, string>> = {
  [RuntimeErrorCode.timeout]: 'Timeout',
  [RuntimeErrorCode.unreachable]: 'ServiceUnavailable',
  [RuntimeErrorCode.throttled]: 'TooManyRequests',
  [RuntimeErrorCode.badAnswer]: 'UnexpectedServerError',
  [RuntimeErrorCode.tooLarge]: 'UnexpectedServerError',
};

/** The error of a task as conditions show it (spec/cvo 2.8), with what the server said beside it: people have to act on it. */
export function taskError(task: string, error: unknown, statusReason?: string): UpdateError {
  if (error instanceof UpdateError) return error;
  const reason = statusReason ?? (error instanceof ApiError ? error.reason || byCode[error.code] : undefined);
  return updateErrorOf(task, error, reason);
}
