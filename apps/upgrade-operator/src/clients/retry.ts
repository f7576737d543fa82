import type { RetryPolicy } from '@flotilla/http';
import { backOffMs } from '@flotilla/runtime';
import { ServiceError, ServiceErrorCode } from './errors.ts';

/** Five tries in all, over half a minute: two seconds, then twice as long from try to try, each by up to 30 % shorter or longer (spec/muo 8.4). */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 5, baseMs: 2_600, floor: 7 / 13, maxMs: 60_000 };

/** For whoever comes again by itself. */
export const NO_RETRY: RetryPolicy = { attempts: 1, baseMs: 0, maxMs: 0 };

/**
 * Milliseconds until a failed call is sent again; undefined: it is not. 429 and 503 are sent again whatever was asked, other failures
 * only where sending twice does no harm, or where nothing was sent.
 * @param failures from 1
 * @param random in [0, 1)
 */
export function retryDelayMs(
  policy: RetryPolicy,
  { error, isSafe, failures, random }: { error: unknown; isSafe: boolean; failures: number; random: () => number },
): number | undefined {
  if (!(error instanceof ServiceError) || failures >= policy.attempts || !isRetried(error, isSafe)) return undefined;
  return Math.round(Math.min(policy.maxMs, Math.max(backOffMs(policy, failures, random), error.retryAfterMs ?? 0)));
}

/** No time-out: five more would keep whoever waits for minutes. */
function isRetried({ code, status, cause }: ServiceError, isSafe: boolean): boolean {
  if (code === ServiceErrorCode.throttled) return true;
  if (code === ServiceErrorCode.unavailable) return isSafe || status === 503;
  return code === ServiceErrorCode.unreachable && (isSafe || wasNotSent(cause));
}

const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const wasNotSent = (cause: unknown): boolean => cause instanceof Error && 'code' in cause && NOT_SENT.has(String(cause.code));
