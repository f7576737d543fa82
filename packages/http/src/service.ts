import { errorMessage, foreign } from '@flotilla/api';
import { backOffMs, type Clock } from '@flotilla/pace';
import { z } from 'zod';
import { fetchAnswer } from './answer.ts';
import { FollowingConnections, type ProxySettings } from './connections.ts';
import { codeOfStatus, HttpError, HttpErrorCode, ServiceError, ServiceErrorCode } from './errors.ts';
import { parseRetryAfter, type RetryPolicy, withRetries } from './retry.ts';

/** Bytes that are read of an answer of Prometheus or Alertmanager: the worst of them takes a tenth of a second. */
export const MAX_MONITOR_BYTES = 2 * 2 ** 20;
/** Entries of such an answer. */
const MAX_ENTRIES = 5_000;

/** A list of what a monitor says: its length is looked at before its entries are. */
export const monitorList = <T extends z.ZodType>(entry: T) =>
  z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length <= MAX_ENTRIES, {
      error: ({ input }) => (Array.isArray(input) ? `has ${input.length} entries, at most ${MAX_ENTRIES} are read` : 'is no list'),
    })
    .pipe(z.array(entry));

/** Options that all services of a program share. */
export interface HttpSurroundings {
  readonly clock: Clock;
  /** Proxies as HTTP_PROXY, HTTPS_PROXY and NO_PROXY have them; default none. */
  readonly proxy?: ProxySettings | undefined;
  /** Default: five tries over half a minute. */
  readonly retry?: RetryPolicy;
  /** Timeout of a try: connection, headers and whole body. Default 30 000. */
  readonly timeoutMs?: number;
  readonly userAgent?: string;
  /** In [0, 1); default Math.random. */
  readonly random?: () => number;
}

/** A service of the cluster, and where it is. */
export interface ServiceOptions extends HttpSurroundings, Pick<HttpOptions, 'ca' | 'authorize'> {
  /** Asked before each call. */
  readonly url: () => Promise<URL>;
}

/** One service. */
export interface HttpOptions extends HttpSurroundings {
  /** In messages, such as `Prometheus`. */
  readonly name: string;
  /** PEM of authorities trusted besides the system's, asked before each try. */
  readonly ca?: () => Promise<string | undefined>;
  /** Value of `Authorization`; asked again, once per call, with `refused` after a 401. Default: none is sent. */
  readonly authorize?: (refused: boolean) => Promise<string | undefined>;
  /** Bytes of an answer that are read. Default 4 MiB. */
  readonly maxBytes?: number;
  /** Redirects that are followed, as `redirectOf` allows. Default 0: one is an answer that is not expected. */
  readonly redirects?: number;
  /** Words a failure as the clients of the service do: conditions are compared by them. Default: our own words. */
  readonly reword?: (error: ServiceError, call: HttpCall) => string | undefined;
}

/** One call. */
export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: URL;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Timeout of a try; default that of the service. */
  readonly timeoutMs?: number;
  /** Bytes of the answer that are read; default that of the service. */
  readonly maxBytes?: number | undefined;
}

/** A whole answer with a status below 300. */
interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** Calls one service. Failures are ServiceErrors, except the caller's own abort. */
export interface Http extends AsyncDisposable {
  send(call: HttpCall): Promise<HttpAnswer>;
  /** The answer as JSON of this form. */
  json<T>(schema: z.ZodType<T>, call: HttpCall): Promise<T>;
}

/** Bytes of a refusal that are kept, and how many of them stand in messages. */
const WORDS = 4096;
const SAID = 512;

/** Opens nothing before the first call. Every try has a time-out and a bounded answer; see `retryDelayMs` for what is tried again. */
export function createHttp(options: HttpOptions): Http {
  const { name, clock, ca, proxy, timeoutMs: connectMs, retry = DEFAULT_RETRY, random = Math.random, reword } = options;
  const connections = new FollowingConnections(async () => ({ ca: await ca?.(), proxy, connectMs }));

  async function send(call: HttpCall): Promise<HttpAnswer> {
    // Sending it twice does no harm.
    const isSafe = call.method === 'GET' || call.method === 'DELETE';
    let authorization = await options.authorize?.(false);
    let renewed = options.authorize === undefined;
    const attempt = async (): Promise<HttpAnswer> => {
      try {
        return await once(options, { ...call, authorization }, connections);
      } catch (error) {
        if (renewed || !(error instanceof ServiceError) || error.status !== 401) throw error;
        renewed = true;
        authorization = await options.authorize?.(true);
        return once(options, { ...call, authorization }, connections);
      }
    };
    const delayMs = (error: unknown, failures: number) => retryDelayMs(retry, { error, isSafe, failures, random });
    return withRetries(attempt, { delayMs, clock, signal: call.signal }).catch((error: unknown) => {
      const message = error instanceof ServiceError ? reword?.(error, call) : undefined;
      throw error instanceof ServiceError && message !== undefined ? error.reworded(message) : error;
    });
  }

  return {
    send,
    async json(schema, call) {
      const { status, text } = await send(call);
      return parseJson(schema, text, { what: describe(name, call), status });
    },
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

/** An answer's JSON. Throws a ServiceError that names the field. */
export function parseJson<T>(schema: z.ZodType<T>, text: string, { what, status }: { what: string; status: number }): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ServiceError(ServiceErrorCode.badAnswer, `${what}: the answer (${status}) is not JSON: ${printable(errorMessage(cause))}`, {
      status,
      cause,
    });
  }
  const parsed = foreign(schema).safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const why = `${issue?.path.join('.') || 'the answer'}: ${issue?.message}`;
  throw new ServiceError(ServiceErrorCode.badAnswer, `${what}: not an answer of this service: ${why}`, { status, cause: parsed.error });
}

const describe = (name: string, { method, url }: Pick<HttpCall, 'method' | 'url'>): string => `${name}: ${method} ${url.pathname}`;

type Try = HttpCall & { readonly authorization: string | undefined };

async function once(options: HttpOptions, { authorization, ...call }: Try, connections: FollowingConnections): Promise<HttpAnswer> {
  const { clock, redirects = 0, userAgent } = options;
  const { maxBytes = options.maxBytes ?? 4 * 2 ** 20 } = call;
  const what = describe(options.name, call);
  const { dispatcherFor } = await connections.current();
  const headers = {
    accept: 'application/json, */*;q=0.1',
    ...(userAgent && { 'user-agent': userAgent }),
    ...(authorization && { authorization }),
    ...(call.body !== undefined && { 'content-type': 'application/json' }),
  };
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  const limits = { timeoutMs: call.timeoutMs ?? options.timeoutMs, maxBytes, refusalBytes: 64 * 1024, redirects, clock };
  const answer = await fetchAnswer({ ...call, headers, body, dispatcherFor, ...limits }).catch((error: unknown) => {
    throw error instanceof HttpError ? failureOf(what, error, authorization) : error;
  });
  const { status, text } = answer;
  if (status < 300) return { status, text };
  const words = withoutSecret(printable(text.slice(0, 2 * WORDS)).slice(0, WORDS), authorization);
  const said = words ? `: ${words.slice(0, SAID)}` : '';
  const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], clock.now());
  throw new ServiceError(codeOfStatus(status), `${what} answered ${status}${said}`, { status, words, retryAfterMs });
}

const CODES = {
  [HttpErrorCode.unreachable]: ServiceErrorCode.unreachable,
  [HttpErrorCode.redirected]: ServiceErrorCode.refused,
  [HttpErrorCode.timeout]: ServiceErrorCode.timeout,
  [HttpErrorCode.tooLarge]: ServiceErrorCode.tooLarge,
} as const;

function failureOf(what: string, error: HttpError, authorization: string | undefined): ServiceError {
  const { status, cause = error } = error;
  const why = withoutSecret(error.message, authorization);
  return new ServiceError(CODES[error.code], `${what}: ${why}`, { status, words: status === 0 ? '' : why, cause });
}

/** A text on one line, without what a terminal would take for orders. */
export const printable = (text: string): string => text.replaceAll(/[\s\p{Cc}\p{Cf}\p{Co}\p{Cn}]+/gu, ' ').trim();

/** Services quote what they were sent. */
function withoutSecret(text: string, secret: string | undefined): string {
  const parts = [secret, secret?.split(' ').at(-1), secret?.split(/[ :]/).at(-1)].filter((part) => part !== undefined && part.length > 3);
  return parts.reduce<string>((kept, part) => kept.replaceAll(String(part), '[redacted]'), text);
}

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
