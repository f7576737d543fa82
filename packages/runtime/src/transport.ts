import { readJson } from '@flotilla/api';
import { Deadline, parseRetryAfter, readBounded, withRetries } from '@flotilla/http';
import { type BackOff, backOffMs, MAX_TIMEOUT_MS, systemClock } from '@flotilla/pace';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import type { Connection, Dispatchers } from './connection.ts';
import { type Headers, impersonate } from './credentials.ts';
import { ApiError, codeOf, describeForeign, describeNoConnection, type FieldCause, RuntimeErrorCode, transportError } from './errors.ts';

/** One request. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  /** For the whole call, retries and body included; for a stream until its headers. Default that of the client. */
  readonly timeoutMs?: number;
  /** Bytes of the answer that are read at most. Default 16 MiB. */
  readonly maxBytes?: number;
  /** Sent again after a 503 or a lost connection. A 429 is always sent again: the server did nothing. */
  readonly idempotent: boolean;
}

/** Which server, and how it is reached. */
interface TransportOptions {
  readonly server: string;
  readonly connection: Connection;
  readonly userAgent: string;
  /** User to act as. */
  readonly actAs?: string | undefined;
  readonly actAsGroups?: readonly string[] | undefined;
  readonly actAsUid?: string | undefined;
  /** Milliseconds for a call that names none; default 30 000. */
  readonly timeoutMs?: number | undefined;
  /** The time-out of a call begins once there are credentials. Default false. */
  readonly waitsForLogin?: boolean | undefined;
  /** Called once per HTTP answer (`status` 0: none came). */
  readonly onAnswer?: (call: Call, status: number, seconds: number) => void;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Most bytes of an answer with one object. */
export const OBJECT_BYTES = 16 * 1024 * 1024;
/** A refusal repeats each refused value twice, and a status may have a megabyte of them. */
const ERROR_BYTES = 4 * 1024 * 1024;
/** Longest wait that a server may ask for. */
const MAX_RETRY_AFTER_MS = 600_000;
const MAX_ATTEMPTS = 6;
const CAUSE = z.object({ field: z.string().max(1_024), reason: z.string().catch(''), message: z.string().catch('') });
const STATUS = z.looseObject({
  reason: z.string().catch(''),
  message: z.string().catch(''),
  details: z
    .looseObject({ causes: z.array(z.unknown()).nullish().catch([]) })
    .nullish()
    .catch(undefined),
});

/** The body of a watch; whoever opened it reads it to its end or destroys it. */
export interface AnswerStream extends AsyncIterable<Uint8Array> {
  destroy(): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** Carries calls to one API server and its answers back. */
export interface Exchange {
  /** Resolves to the body of a 2xx answer. Throws `ApiError` for a refusal, and when no usable answer comes. */
  send(call: Call): Promise<string>;
  /** Opens a stream; throws as `send` does. */
  open(call: Call): Promise<AnswerStream>;
  /** Ends every stream. */
  close(): Promise<void>;
}

type Answer = Dispatcher.ResponseData;
type Reader<R> = (answer: Answer, deadline: Deadline) => Promise<R>;

/** HTTP to one API server: credentials, time-outs, bounded reads, retries, refusals as `ApiError`. */
export class Transport implements Exchange {
  readonly #options: TransportOptions;
  readonly #base: URL;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#base = new URL(options.server);
  }

  /** Sends a call and returns the body of its 2xx answer. */
  send(call: Call): Promise<string> {
    return this.#withRetries(call, 'calls', (answer, deadline) => readText(call, answer, call.maxBytes ?? OBJECT_BYTES, deadline));
  }

  /** Opens a stream; the time-out covers everything until its headers. The caller reads or destroys the body. */
  open(call: Call): Promise<Answer['body']> {
    return this.#withRetries(call, 'watches', async ({ body }) => body);
  }

  close(): Promise<void> {
    return this.#options.connection.close();
  }

  async #withRetries<R>(call: Call, lane: keyof Dispatchers, read: Reader<R>): Promise<R> {
    if (this.#options.waitsForLogin) await this.#logIn(call);
    const timeoutMs = this.#timeoutOf(call);
    const end = performance.now() + timeoutMs;
    using deadline = new Deadline(timeoutMs, call.signal);
    const delayMs = (error: unknown, failures: number) => {
      const waitMs = retryDelayMs(call, error, failures);
      return waitMs !== undefined && performance.now() + waitMs < end ? waitMs : undefined;
    };
    const attempt = () => this.#once(call, lane, read, deadline);
    // Awaited here: the deadline lasts as long as this block.
    return await withRetries(attempt, { delayMs, clock: systemClock, signal: call.signal });
  }

  /** A plug-in has a time-out of its own. */
  async #logIn({ signal }: Call): Promise<void> {
    using deadline = new Deadline(MAX_TIMEOUT_MS, signal);
    try {
      await deadline.race(this.#options.connection.current());
    } catch (error) {
      // A plug-in that failed is not asked twice; the call itself tells of anything else.
      if (error instanceof ApiError || signal?.aborted) throw error;
    }
  }

  async #once<R>(call: Call, lane: keyof Dispatchers, read: Reader<R>, deadline: Deadline): Promise<R> {
    const started = performance.now();
    let dispatchers: Dispatchers | undefined;
    let status = 0;
    try {
      const current = await deadline.race(this.#options.connection.current());
      dispatchers = current.dispatchers;
      const answer = await this.#dispatch(call, current.headers, dispatchers[lane], deadline);
      status = answer.statusCode;
      if (status >= 200 && status < 300) return await read(answer, deadline);
      if (status === 401) this.#options.connection.forgetCredentials();
      throw await refusal(call, answer, deadline, this.#options.server);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (deadline.signal.aborted && !deadline.timedOut) throw call.signal?.reason;
      // Silence until the time-out may be a connection that died without a word: never wait for it twice.
      if (deadline.timedOut && status === 0 && dispatchers) this.#options.connection.abandon(dispatchers);
      throw this.#failure(call, error, deadline);
    } finally {
      this.#options.onAnswer?.(call, status, (performance.now() - started) / 1000);
    }
  }

  #dispatch(call: Call, headers: Headers, dispatcher: Dispatcher, deadline: Deadline): Promise<Answer> {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    return dispatcher.request({
      origin: this.#base.origin,
      path: `${this.#base.pathname.replace(/\/$/, '')}${call.path}`,
      method: call.method,
      headers: {
        ...headers,
        accept: 'application/json, */*;q=0.1',
        'user-agent': this.#options.userAgent,
        ...impersonate({ user: this.#options.actAs, groups: this.#options.actAsGroups, uid: this.#options.actAsUid }),
        ...(body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
      },
      body,
      signal: deadline.signal,
    });
  }

  #timeoutOf({ timeoutMs }: Call): number {
    return timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  #failure(call: Call, error: unknown, deadline: Deadline): unknown {
    const what = `${describe(call)} at ${this.#options.server}`;
    if (deadline.timedOut) return transportError(RuntimeErrorCode.timeout, what, `no answer within ${this.#timeoutOf(call)} ms`);
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('FLOTILLA_')) return error;
    const { says, isForeign } = describeNoConnection(error);
    return new ApiError(RuntimeErrorCode.unreachable, what, { status: 0, reason: '', serverMessage: says, isForeign }, { cause: error });
  }
}

/** Verb and path without its query. */
export const describe = (call: Pick<Call, 'method' | 'path'>): string => `${call.method} ${call.path.split('?', 1)[0]}`;

const BACK_OFF: BackOff = { baseMs: 150, maxMs: 60_000, floor: 1 / 3 };

/** Milliseconds until the same call may be sent again; undefined: give up. */
function retryDelayMs(call: Call, error: unknown, attempt: number): number | undefined {
  if (!(error instanceof ApiError) || attempt >= MAX_ATTEMPTS) return undefined;
  const spread = 0.5 + Math.random();
  const backOff = backOffMs(BACK_OFF, attempt);
  if (error.status === 429) return (error.retryAfterMs ?? backOff) + 50 * spread;
  if (error.status === 503 && call.idempotent) return (error.retryAfterMs ?? backOff) + 50 * spread;
  if (error.status === 401 && attempt === 1) return 0;
  // A kept-alive connection may have been closed under us; more than twice is an outage, which is the caller's business.
  if (error.code === RuntimeErrorCode.unreachable && call.idempotent && attempt <= 2 && isLost(error.cause)) return 20 * spread;
  return undefined;
}

const LOST = new Set([
  'UND_ERR_SOCKET',
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_INFO',
  'UND_ERR_ABORTED',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_SESSION_ERROR',
  'ERR_HTTP2_GOAWAY_SESSION',
]);
const isLost = (cause: unknown): boolean => cause instanceof Error && 'code' in cause && LOST.has(String(cause.code));

async function refusal(call: Call, answer: Answer, deadline: Deadline, server: string): Promise<ApiError> {
  const text = await readText(call, answer, ERROR_BYTES, deadline).catch((error: unknown) => {
    if (error instanceof ApiError) return '';
    throw error;
  });
  return refusedAnswer(call, server, { status: answer.statusCode, text, headers: answer.headers });
}

/** Answer of a server that did not do what a call asks for. */
interface RefusedAnswer {
  /** HTTP status. */
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

/** The error for an answer that is not 2xx. @param server its base URL, for the message */
export function refusedAnswer(call: Call, server: string, { status, text, headers = {} }: RefusedAnswer): ApiError {
  const { reason, message, causes } = parseStatus(text);
  const headerOf = (name: string) => [headers[name]].flat()[0];
  const retryAfterMs = parseRetryAfter(headerOf('retry-after'));
  const foreign = describeForeign(text, status, headerOf('location'));
  return new ApiError(codeOf(status, reason), foreign === undefined ? describe(call) : `${describe(call)} at ${server}`, {
    status,
    reason,
    serverMessage: foreign ?? message,
    causes,
    isForeign: foreign !== undefined,
    ...(retryAfterMs !== undefined && { retryAfterMs: Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) }),
  });
}

function parseStatus(text: string): { reason: string; message: string; causes: FieldCause[] } {
  const status = STATUS.safeParse(readJson(text)).data;
  if (status) return { reason: status.reason, message: status.message.slice(0, 4096), causes: causesOf(status) };
  // Proxies and load balancers answer in their own words.
  return { reason: '', message: text.slice(0, 512).trim(), causes: [] };
}

/** Causes without a field belong to the whole object. */
const causesOf = ({ details }: z.output<typeof STATUS>): FieldCause[] =>
  (details?.causes ?? []).flatMap((cause) => {
    const { data } = CAUSE.safeParse(cause);
    return data ? [{ ...data, message: data.message.slice(0, 1_024) }] : [];
  });

async function readText(call: Call, answer: Answer, maxBytes: number, { signal }: Deadline): Promise<string> {
  const tooLarge = () => transportError(RuntimeErrorCode.tooLarge, describe(call), `the answer is larger than ${maxBytes} bytes`);
  return (await readBounded(answer.body, maxBytes, { signal, tooLarge })).toString('utf8');
}
