import type { Readable } from 'node:stream';
import { errorMessage, FlotillaError } from '@flotilla/api';
import type { Clock } from '@flotilla/pace';
// biome-ignore lint/style/noRestrictedImports: this is the client
import { type Dispatcher, request } from 'undici';
import { Deadline } from './deadline.ts';
import { HttpError, HttpErrorCode } from './errors.ts';

/** One request, before redirects. */
export interface HttpRequest {
  /** Default `GET`. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  /** An `authorization` header stays with its server. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Buffer | Readable | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Returns connections to a server, with proxies and trust. It is called for each redirect too; an error it throws ends the request. */
  readonly dispatcherFor: (url: URL) => Dispatcher;
  /** Bound of redirects, which `redirectOf` allows. Default `MAX_REDIRECTS`; 0: a redirect is a normal answer. */
  readonly redirects?: number | undefined;
  /** True for a server that a redirect from https may lead to over plain HTTP, `host[:port]`. Default: none. */
  readonly allowsPlain?: ((host: string) => boolean) | undefined;
}

/** Time-outs of a streamed answer, in milliseconds. */
interface StreamLimits {
  /** Time from the request to the answer's headers. */
  readonly headersTimeout?: number;
  /** Pause within the body. */
  readonly bodyTimeout?: number;
  /** Buffered bytes. */
  readonly highWaterMark?: number;
}

/** An answer with an unread body. */
export interface OpenAnswer {
  readonly status: number;
  /** First value of each header; all of `www-authenticate`. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Body, which the caller must read or destroy. */
  readonly body: Readable;
  /** Source of the answer, after redirects. */
  readonly url: URL;
}

/**
 * Sends a request and follows its redirects.
 * @throws HttpError `redirected`; errors of `dispatcherFor` and of the connection
 */
export async function openAnswer(call: HttpRequest & StreamLimits): Promise<OpenAnswer> {
  const { method = 'GET', body: sent, signal, redirects: most, allowsPlain, headersTimeout, bodyTimeout, highWaterMark } = call;
  const options = { method, body: sent, signal, headersTimeout, bodyTimeout, highWaterMark };
  let { url, headers: asking = {} } = call;
  for (let followed = 0; ; followed++) {
    const { statusCode: status, headers, body } = await request(url, { ...options, headers: asking, dispatcher: call.dispatcherFor(url) });
    // An error after the caller has stopped reading must not end the process.
    body.on('error', () => undefined);
    const location = [headers.location].flat()[0];
    const redirect = redirectOf({ method, url, status, location, followed, most, allowsPlain });
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
  Object.fromEntries(
    // Challenges may come in one header or in several.
    Object.entries(headers).map(([name, value]) => [
      name,
      !Array.isArray(value) ? value : name === 'www-authenticate' ? value.join(', ') : value[0],
    ]),
  );

/** Bounds of an answer that is read whole. */
interface WholeLimits {
  /** Time-out of connection, redirects and body together, in milliseconds. Default 30 000. */
  readonly timeoutMs?: number | undefined;
  /** Largest body in bytes. Default 32 MiB. */
  readonly maxBytes?: number;
  /** Largest body in bytes of an answer from status 300 on, which may explain it. Default 0: unread. */
  readonly refusalBytes?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

interface HttpAnswer extends Omit<OpenAnswer, 'body'> {
  /** Empty for a refusal that is unread, too long or cut. */
  readonly bytes: Buffer;
  /** Bytes as UTF-8. */
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
    // The status counts without its body, too.
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

/** Bytes that arrive in chunks: a body, a file, a generator. */
type ByteSource = AsyncIterable<Uint8Array> & { destroy?(error: Error): unknown };

interface ReadOptions {
  /** Ends the source when it aborts. */
  readonly signal?: AbortSignal;
  /** Creates the error for a source with more bytes. Default: an `HttpError`. */
  readonly tooLarge?: () => Error;
}

/** Reads all bytes of a source, at most `maxBytes`; a longer one is ended and refused. */
export async function readBounded(source: ByteSource, maxBytes: number, { signal, tooLarge }: ReadOptions = {}): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const stop = (): void => void source.destroy?.(new Error('the call was ended'));
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of source) {
      size += chunk.length;
      // Leaving the loop destroys the source, so an endless one costs at most the bound.
      if (size > maxBytes) throw tooLarge?.() ?? new HttpError(HttpErrorCode.tooLarge, `more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } finally {
    signal?.removeEventListener('abort', stop);
  }
  return Buffer.concat(chunks, size);
}

/** Default bound of redirects: enough for mirrors and signed addresses. */
export const MAX_REDIRECTS = 5;

interface RedirectQuestion {
  readonly method: string;
  /** URL that gave the answer. */
  readonly url: URL;
  readonly status: number;
  readonly location: string | undefined;
  /** Earlier redirects. */
  readonly followed: number;
  /** Bound of redirects. Default `MAX_REDIRECTS`; 0: a redirect is a normal answer. */
  readonly most?: number;
  /** True for a server that may be read over plain HTTP from https, `host[:port]`; default: none. */
  readonly allowsPlain?: ((host: string) => boolean) | undefined;
}

type Redirect =
  /** It is the final answer. */
  | { readonly kind: 'answer' }
  /** Dropped credentials are never sent again, even when a later redirect leads back. */
  | { readonly kind: 'follow'; readonly url: URL; readonly dropsCredentials: boolean }
  /** The message names only scheme and host of the target. */
  | { readonly kind: 'refused'; readonly why: string };

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Decides where a redirect leads. Only reads follow, never from https to http, unless that server is allowed, or to another kind of URL. Credentials
 * stay with the server they are for. Pure.
 */
export function redirectOf({ method, url, status, location, followed, most = MAX_REDIRECTS, allowsPlain }: RedirectQuestion): Redirect {
  const isRead = method === 'GET' || method === 'HEAD';
  if (most === 0 || !isRead || !REDIRECTS.has(status) || location === undefined) return { kind: 'answer' };
  if (followed >= most) return { kind: 'refused', why: `more than ${most} redirects` };
  const next = URL.parse(location, url.href);
  if (!next) return { kind: 'refused', why: 'redirected to what is no URL' };
  const isPlainAllowed = next.protocol === 'http:' && (url.protocol === 'http:' || allowsPlain?.(next.host) === true);
  if (next.protocol !== 'https:' && !isPlainAllowed)
    return {
      kind: 'refused',
      why: `redirected to ${next.protocol}//${next.host}, which is not https: name a server that stays on https`,
    };
  // A password in a location is no credential of ours.
  next.username = '';
  next.password = '';
  return { kind: 'follow', url: next, dropsCredentials: next.origin !== url.origin };
}
