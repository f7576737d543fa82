import { errorMessage, FlotillaError, redirectOf } from '@flotilla/api';
import { type Dispatcher, request } from 'undici';
import { Deadline } from './deadline.ts';

/** Codes of texts that could not be fetched. */
export const HttpGetCode = {
  /** No connection, or it was lost. */
  unreachable: 'FLOTILLA_HTTP_UNREACHABLE',
  /** A redirect led off https, to another kind of URL, or round in circles. */
  redirected: 'FLOTILLA_HTTP_REDIRECTED',
  /** No whole answer within the time. */
  timeout: 'FLOTILLA_HTTP_TIMEOUT',
  /** More bytes than the caller reads. */
  tooLarge: 'FLOTILLA_HTTP_TOO_LARGE',
} as const;

/** How a text is fetched. */
export interface HttpGetOptions {
  /** `authorization` among them stays with the server it is for. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Connections to a server, proxies and trust included. */
  readonly dispatcherFor: (url: URL) => Dispatcher;
  /** Connection, redirects and body together. Default 30 000. */
  readonly timeoutMs?: number;
  /** Bytes of the body. Default 32 MiB. */
  readonly maxBytes?: number;
  /** Bytes of the body that are read of an answer with another status than 200, which may say why. Default 0. */
  readonly refusalBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

/** An answer. */
export interface HttpText {
  readonly status: number;
  /** Empty unless the status is 200 or a refusal is read. */
  readonly bytes: Uint8Array;
  /** The bytes as UTF-8. */
  readonly text: string;
}

/** Of a body that nobody reads, so that its connection is not left hanging. */
const DUMPED = { limit: 65_536 };

/**
 * Fetches a text or a small file. Redirects are followed as `redirectOf` allows.
 * @throws FlotillaError with a code of `HttpGetCode` and a message that says why, and neither URL nor headers; the signal's reason when it aborts
 */
export async function httpGet(url: URL, options: HttpGetOptions): Promise<HttpText> {
  const { timeoutMs = 30_000, maxBytes = 2 ** 25, refusalBytes = 0 } = options;
  using deadline = new Deadline(timeoutMs, options.signal);
  try {
    const answer = await followed(url, options, deadline.signal);
    if (answer.statusCode === 200) return answerOf(200, await readBody(answer, maxBytes, deadline));
    // the status says something without its body, too
    if (refusalBytes > 0) return answerOf(answer.statusCode, await readBody(answer, refusalBytes, deadline).catch(() => Buffer.alloc(0)));
    await deadline.race(answer.body.dump(DUMPED)).catch(() => undefined);
    return answerOf(answer.statusCode, Buffer.alloc(0));
  } catch (cause) {
    if (cause instanceof FlotillaError) throw cause;
    if (deadline.timedOut) throw new FlotillaError(HttpGetCode.timeout, `no complete answer within ${timeoutMs} ms`, { cause });
    options.signal?.throwIfAborted();
    throw new FlotillaError(HttpGetCode.unreachable, errorMessage(cause) || 'connection failed', { cause });
  }
}

async function followed(
  from: URL,
  { headers: given = {}, dispatcherFor }: HttpGetOptions,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  let [url, headers] = [from, given];
  for (let followed = 0; ; followed++) {
    const answer = await request(url, { headers, signal, dispatcher: dispatcherFor(url) });
    // an error after nobody reads any more must not end the process
    answer.body.on('error', () => undefined);
    const { location } = answer.headers;
    const redirect = redirectOf({ method: 'GET', url, status: answer.statusCode, location: [location].flat()[0], followed });
    if (redirect.kind === 'answer') return answer;
    await answer.body.dump(DUMPED).catch(() => undefined);
    if (redirect.kind === 'refused') throw new FlotillaError(HttpGetCode.redirected, redirect.why);
    if (redirect.dropsCredentials) headers = withoutCredentials(headers);
    url = redirect.url;
  }
}

const withoutCredentials = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));

const answerOf = (status: number, bytes: Buffer): HttpText => ({
  status,
  bytes,
  get text() {
    return bytes.toString('utf8');
  },
});

async function readBody(answer: Dispatcher.ResponseData, maxBytes: number, { signal }: Deadline): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const stop = (): void => void answer.body.destroy(new Error('the call was ended'));
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of answer.body) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > maxBytes) throw new FlotillaError(HttpGetCode.tooLarge, `more than ${maxBytes} bytes`);
      chunks.push(bytes);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  return Buffer.concat(chunks, size);
}
