import { ServiceError, ServiceErrorCode } from './errors.ts';

/** How often and how fast a call is sent again (spec/muo 8.4). */
export interface RetryPolicy {
  /** Times after the first. */
  readonly retries: number;
  /** Wait before the first retry; doubles each time. */
  readonly baseMs: number;
  /** Share of a wait by which it may be shorter or longer. */
  readonly jitter: number;
  /** Longest wait, whatever `Retry-After` says. */
  readonly maxMs: number;
}

/** Five tries in all, over half a minute. */
export const DEFAULT_RETRY: RetryPolicy = { retries: 4, baseMs: 2_000, jitter: 0.3, maxMs: 60_000 };

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
  if (!(error instanceof ServiceError) || failures > policy.retries || !isRetried(error, isSafe)) return undefined;
  const wait = policy.baseMs * 2 ** Math.min(failures - 1, 20) * (1 + policy.jitter * (2 * random() - 1));
  return Math.min(policy.maxMs, Math.max(wait, error.retryAfterMs ?? 0));
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
