import { createSecureContext, getCACertificates } from 'node:tls';
import { errorMessage, redirectOf } from '@flotilla/api';
import { type Connections, openConnections, type ProxySettings, parseRetryAfter } from '@flotilla/registry';
import { type Clock, pause } from '@flotilla/runtime';
import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { codeOfStatus, ServiceError, ServiceErrorCode } from './errors.ts';
import { DEFAULT_RETRY, type RetryPolicy, retryDelayMs } from './retry.ts';

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

/** What all services of a program are reached with. */
export interface HttpSurroundings {
  readonly clock: Clock;
  /** Proxies as HTTP_PROXY, HTTPS_PROXY and NO_PROXY have them; default none. */
  readonly proxy?: ProxySettings | undefined;
  /** Default: five tries over half a minute. */
  readonly retry?: RetryPolicy;
  /** Of a try: connection, headers and whole body. Default 30 000. */
  readonly timeoutMs?: number;
  readonly userAgent?: string;
  /** In [0, 1); default Math.random. */
  readonly random?: () => number;
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
}

/** One call. */
export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: URL;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Sending it twice does no harm. Default: GET and DELETE. */
  readonly isSafe?: boolean;
}

/** A whole answer with a status below 300. */
export interface HttpAnswer {
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
  const { name, clock, retry = DEFAULT_RETRY, random = Math.random } = options;
  const pool = createPool(options);

  async function send(call: HttpCall): Promise<HttpAnswer> {
    const isSafe = call.isSafe ?? (call.method === 'GET' || call.method === 'DELETE');
    let authorization = await options.authorize?.(false);
    let renewed = options.authorize === undefined;
    for (let failures = 0; ; ) {
      call.signal?.throwIfAborted();
      try {
        return await once(options, { ...call, authorization }, await pool.open());
      } catch (error) {
        call.signal?.throwIfAborted();
        if (!renewed && error instanceof ServiceError && error.status === 401) {
          renewed = true;
          authorization = await options.authorize?.(true);
          continue;
        }
        failures++;
        const waitMs = retryDelayMs(retry, { error, isSafe, failures, random });
        if (waitMs === undefined) throw error;
        await pause(clock, waitMs, call.signal);
      }
    }
  }

  return {
    send,
    async json(schema, call) {
      const { status, text } = await send(call);
      return parseJson(schema, text, { what: describe(name, call), status });
    },
    [Symbol.asyncDispose]: () => pool.close(),
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
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const why = `${issue?.path.join('.') || 'the answer'}: ${issue?.message}`;
  throw new ServiceError(ServiceErrorCode.badAnswer, `${what}: not an answer of this service: ${why}`, { status, cause: parsed.error });
}

const describe = (name: string, { method, url }: Pick<HttpCall, 'method' | 'url'>): string => `${name}: ${method} ${url.pathname}`;

type Try = HttpCall & { readonly authorization: string | undefined };

async function once(options: HttpOptions, call: Try, connections: Connections): Promise<HttpAnswer> {
  const { clock, timeoutMs = 30_000, maxBytes = 4 * 2 ** 20 } = options;
  const what = describe(options.name, call);
  using limit = timeLimit(clock, timeoutMs, call.signal);
  try {
    const answer = await followed(options, call, connections, limit.signal);
    const { statusCode: status, headers } = answer;
    if (status < 300) return { status, text: await readText(answer, maxBytes, what) };
    const words = withoutSecret(await readWords(answer), call.authorization);
    const said = words ? `: ${words.slice(0, SAID)}` : '';
    const retryAfterMs = parseRetryAfter(String(headers['retry-after'] ?? '') || undefined, clock.now());
    throw new ServiceError(codeOfStatus(status), `${what} answered ${status}${said}`, { status, words, retryAfterMs });
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (limit.isOver())
      throw new ServiceError(ServiceErrorCode.timeout, `${what}: no complete answer within ${timeoutMs} ms`, { cause: error });
    const why = withoutSecret(errorMessage(error) || 'connection failed', call.authorization);
    throw new ServiceError(ServiceErrorCode.unreachable, `${what}: ${why}`, { cause: error });
  }
}

async function followed(
  { name, redirects = 0, userAgent }: HttpOptions,
  call: Try,
  connections: Connections,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  let { url, authorization } = call;
  for (let followed = 0; ; followed++) {
    const answer = await request(url, {
      method: call.method,
      headers: {
        accept: 'application/json, */*;q=0.1',
        ...(userAgent && { 'user-agent': userAgent }),
        ...(authorization && { authorization }),
        ...(call.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      signal,
      dispatcher: connections.dispatcherFor(url),
    });
    // An error after we stopped reading must not end the process.
    answer.body.on('error', () => undefined);
    const { statusCode: status, headers } = answer;
    const redirect = redirectOf({ method: call.method, url, status, location: [headers.location].flat()[0], followed, most: redirects });
    if (redirect.kind === 'answer') return answer;
    answer.body.destroy();
    if (redirect.kind === 'refused')
      throw new ServiceError(ServiceErrorCode.refused, `${describe(name, call)}: ${redirect.why}`, { status, words: redirect.why });
    if (redirect.dropsCredentials) authorization = undefined;
    url = redirect.url;
  }
}

async function readText(answer: Dispatcher.ResponseData, maxBytes: number, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > maxBytes) throw new ServiceError(ServiceErrorCode.tooLarge, `${what}: the answer is larger than ${maxBytes} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}

/** What a refusal says, on one line; a body that is too long or breaks off leaves the status to speak. */
async function readWords(answer: Dispatcher.ResponseData): Promise<string> {
  const text = await readText(answer, 64 * 1024, '').catch(() => '');
  return printable(text.slice(0, 2 * WORDS)).slice(0, WORDS);
}

/** On one line, without what a terminal would take for orders. */
const printable = (text: string): string => text.replaceAll(/[\s\p{Cc}\p{Cf}\p{Co}\p{Cn}]+/gu, ' ').trim();

/** Services quote what they were sent. */
function withoutSecret(text: string, secret: string | undefined): string {
  const parts = [secret, secret?.split(' ').at(-1), secret?.split(/[ :]/).at(-1)].filter((part) => part !== undefined && part.length > 3);
  return parts.reduce<string>((kept, part) => kept.replaceAll(String(part), '[redacted]'), text);
}

function timeLimit(clock: Clock, ms: number, outer: AbortSignal | undefined): Disposable & { signal: AbortSignal; isOver(): boolean } {
  const controller = new AbortController();
  let over = false;
  const timer = clock.setTimer(ms, () => {
    over = true;
    controller.abort(new Error('no time left'));
  });
  const stop = (): void => controller.abort(outer?.reason);
  outer?.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    isOver: () => over,
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      outer?.removeEventListener('abort', stop);
    },
  };
}

/** Connections under the authorities of the moment; those under others are closed. */
function createPool({ ca, proxy = {}, timeoutMs = 30_000 }: HttpOptions): { open(): Promise<Connections>; close(): Promise<void> } {
  let current: { readonly pem: string | undefined; readonly connections: Connections } | undefined;
  return {
    async open() {
      const pem = await ca?.();
      if (current && current.pem === pem) return current.connections;
      const old = current?.connections;
      const secureContext = createSecureContext(pem ? { ca: [...getCACertificates('default'), pem] } : {});
      const limits = { connectMs: timeoutMs, tunnelMs: timeoutMs };
      current = { pem, connections: openConnections({ tls: { secureContext, rejectUnauthorized: true }, proxy, ...limits }) };
      void old?.destroy();
      return current.connections;
    },
    close: async () => {
      await current?.connections.destroy();
      current = undefined;
    },
  };
}
