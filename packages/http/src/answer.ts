import type { Readable } from 'node:stream';
import { errorMessage, FlotillaError } from '@flotilla/api';
import type { Clock } from '@flotilla/pace';
import { type Dispatcher, request } from 'undici';
import { readBounded } from './body.ts';
import { Deadline } from './deadline.ts';
import { HttpError, HttpErrorCode } from './errors.ts';
import { redirectOf } from './redirects.ts';

/** One request, before redirects. */
export interface HttpRequest {
  /** Default `GET`. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  /** `authorization` among them stays with the server it is for. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Buffer | Readable | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Connections to a server, proxies and trust included. Called for each redirect too; an error that it throws ends the request. */
  readonly dispatcherFor: (url: URL) => Dispatcher;
  /** Redirects that are followed, as `redirectOf` allows. Default `MAX_REDIRECTS`; 0: a redirect is an answer like any other. */
  readonly redirects?: number | undefined;
}

/** Times of an answer that is read as it comes; milliseconds. */
interface StreamLimits {
  /** From the request to the headers of the answer. */
  readonly headersTimeout?: number;
  /** Silence inside the body. */
  readonly bodyTimeout?: number;
  /** Bytes that are buffered. */
  readonly highWaterMark?: number;
}

/** An answer whose body has not been read. */
export interface OpenAnswer {
  readonly status: number;
  /** The first value of each. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Must be read or destroyed. */
  readonly body: Readable;
  /** Where it came from, after redirects. */
  readonly url: URL;
}

/**
 * Sends a request and follows its redirects.
 * @throws HttpError `redirected`; what `dispatcherFor` and the connection throw
 */
export async function openAnswer(call: HttpRequest & StreamLimits): Promise<OpenAnswer> {
  const { method = 'GET', body: sent, signal, redirects: most, headersTimeout, bodyTimeout, highWaterMark } = call;
  const options = { method, body: sent, signal, headersTimeout, bodyTimeout, highWaterMark };
  let { url, headers: asking = {} } = call;
  for (let followed = 0; ; followed++) {
    const { statusCode: status, headers, body } = await request(url, { ...options, headers: asking, dispatcher: call.dispatcherFor(url) });
    // An error after nobody reads any more must not end the process.
    body.on('error', () => undefined);
    const location = [headers.location].flat()[0];
    const redirect = redirectOf({ method, url, status, location, followed, most });
    if (redirect.kind === 'answer') return { status, headers: firstValues(headers), body, url };
    body.destroy();
    if (redirect.kind === 'refused') throw new HttpError(HttpErrorCode.redirected, redirect.why, { status });
    if (redirect.dropsCredentials) asking = withoutCredentials(asking);
    url = redirect.url;
  }
}

const withoutCredentials = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));

const firstValues = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]));

/** Bounds of an answer that is read whole. */
interface WholeLimits {
  /** Connection, redirects and body together. Default 30 000. */
  readonly timeoutMs?: number | undefined;
  /** Bytes of the body. Default 32 MiB. */
  readonly maxBytes?: number;
  /** Bytes of the body of an answer from status 300 on, which may say why. Default 0: it is not read. */
  readonly refusalBytes?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** A whole answer. */
interface HttpAnswer extends Omit<OpenAnswer, 'body'> {
  /** Empty for a refusal that is not read, too long or cut. */
  readonly bytes: Buffer;
  /** The bytes as UTF-8. */
  readonly text: string;
}

/**
 * Fetches a text or a small file.
 * @throws HttpError; a FlotillaError of `dispatcherFor`; the signal's reason when it aborts
 */
export async function fetchAnswer(call: HttpRequest & WholeLimits): Promise<HttpAnswer> {
  const { timeoutMs = 30_000, maxBytes = 2 ** 25, refusalBytes = 0, clock, ...options } = call;
  using deadline = new Deadline(timeoutMs, call.signal, { clock });
  const { signal } = deadline;
  try {
    const { body, ...answer } = await openAnswer({ ...options, signal });
    if (answer.status < 300) return withBytes(answer, await readBounded(body, maxBytes, { signal }));
    // The status says something without its body, too.
    return withBytes(answer, await readBounded(body, refusalBytes, { signal }).catch(() => Buffer.alloc(0)));
  } catch (cause) {
    if (cause instanceof FlotillaError) throw cause;
    if (deadline.timedOut) throw new HttpError(HttpErrorCode.timeout, `no complete answer within ${timeoutMs} ms`);
    call.signal?.throwIfAborted();
    throw new HttpError(HttpErrorCode.unreachable, errorMessage(cause) || 'connection failed', { cause });
  }
}

const withBytes = (answer: Omit<OpenAnswer, 'body'>, bytes: Buffer): HttpAnswer => ({
  ...answer,
  bytes,
  get text() {
    return bytes.toString('utf8');
  },
});
