/** Odd answers of registries, their storage and what stands before them. */
import type { ServerResponse } from 'node:http';

/** A request for a document or blob, and the right bytes. */
interface QuirkRequest {
  readonly bytes: Buffer;
  readonly mediaType: string;
  /** Address of the registry, and path that was asked for. */
  readonly host: string;
  readonly path: string;
  /** The range that was asked for; `end` is absent in an open one. */
  readonly range: { readonly start: number; readonly end: number | undefined } | undefined;
  readonly response: ServerResponse;
}

/** Answers and returns true, or leaves the request to the honest part. */
export type Quirk = (request: QuirkRequest) => boolean;

/** Bytes that are written before the reader has to take some. */
const PIECE = 64 * 1024;

/** Sends a body as fast as it is taken, so that a reader who hangs up costs no more than what is on its way; then ends the answer. */
export function sendBody(response: ServerResponse, body: Buffer, then = (): unknown => response.end()): void {
  const send = (at: number): void => {
    if (response.destroyed) return;
    if (at >= body.length) return void then();
    const isTaken = response.write(body.subarray(at, at + PIECE));
    if (isTaken) send(at + PIECE);
    else response.once('drain', () => send(at + PIECE));
  };
  send(0);
}

const answer = (response: ServerResponse, status: number, headers: Record<string, string | number>, body: string | Buffer = ''): true => {
  response.writeHead(status, headers);
  sendBody(response, Buffer.from(body));
  return true;
};

/** A range, or another one than was asked for, from `from` to `to`. */
function part({ bytes, mediaType, response }: QuirkRequest, from: number, to: number, total: number | string = bytes.length): true {
  const headers = { 'content-type': mediaType, 'content-length': to - from, 'content-range': `bytes ${from}-${to - 1}/${total}` };
  return answer(response, 206, headers, bytes.subarray(from, to));
}

/** The bytes that an honest answer brings. */
const asked = ({ bytes, range }: QuirkRequest): Buffer => bytes.subarray(range?.start ?? 0, range?.end);

/** Head of an honest answer. */
function head({ bytes, mediaType, range }: QuirkRequest, length: number): [number, Record<string, string | number>] {
  const headers = { 'content-type': mediaType, 'content-length': length };
  const end = range?.end ?? bytes.length;
  return range ? [206, { ...headers, 'content-range': `bytes ${range.start}-${end - 1}/${bytes.length}` }] : [200, headers];
}

const jsonError = (code: string, message: string): string => JSON.stringify({ errors: [{ code, message }] });
const JSON_TYPE = { 'content-type': 'application/json' };
const HTML_TYPE = { 'content-type': 'text/html; charset=utf-8' };
const page = (text: string): string => `<!DOCTYPE html>\n<html><head><title>${text}</title></head><body><h1>${text}</h1></body></html>`;
const storageError = (code: string, message: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;

/** Refuses with a status. */
const refuses =
  (status: number, headers: Record<string, string>, body: string): Quirk =>
  ({ response }) =>
    answer(response, status, headers, body);

const noRange = ({ response }: QuirkRequest): true =>
  answer(response, 416, JSON_TYPE, jsonError('BLOB_UNKNOWN', "We don't understand your Range"));

/** Sends so much of an honest answer, then cuts the connection. */
const cutAt =
  (share: (length: number) => number): Quirk =>
  (request) => {
    const bytes = asked(request);
    const { response } = request;
    response.writeHead(...head(request, bytes.length));
    response.flushHeaders();
    const cut = (): void => void setImmediate(() => response.destroy());
    sendBody(response, bytes.subarray(0, share(bytes.length)), cut);
    return true;
  };

/** Leads to storage under another name of this machine, which answers by `then`; its own requests have this path. */
const storage =
  (then: Quirk): Quirk =>
  (request) => {
    if (request.path.includes('signed=')) return then(request);
    const location = `http://${request.host.replace('127.0.0.1', 'localhost')}${request.path}?signed=1`;
    return answer(request.response, 307, { location });
  };

/** Text that would move a cursor, colour a page and fill a screen. */
const HOSTILE_WORDS = `\u001b[31m<script>alert(1)</script>\u0007\u202e${'w'.repeat(5_000)}`;

/** The rows. A registry keeps to one of them for the requests that it is told. */
export const QUIRKS = {
  'no ranges: 200 and the whole': ({ bytes, mediaType, response }) =>
    answer(response, 200, { 'content-type': mediaType, 'content-length': bytes.length }, bytes),
  'a range that begins earlier': (request) => {
    const { range, bytes } = request;
    return range !== undefined && part(request, Math.max(0, range.start - 50_000), range.end ?? bytes.length);
  },
  'a range that begins later': (request) => {
    const { range, bytes } = request;
    return range !== undefined && part(request, range.start + 1, range.end ?? bytes.length);
  },
  'a range that does not say which it is': (request) => {
    const { response, range } = request;
    const bytes = asked(request);
    return range !== undefined && answer(response, 206, { 'content-length': bytes.length }, bytes);
  },
  '416 for open ranges': (request) => request.range !== undefined && request.range.end === undefined && noRange(request),
  '416 for open ranges, and a cut of closed ones': (request) =>
    request.range !== undefined && (request.range.end === undefined ? noRange(request) : cutAt(() => 0)(request)),
  '416 for every range': (request) => request.range !== undefined && noRange(request),
  '400': refuses(400, {}, storageError('RequestTimeout', 'Your socket connection was not read in time')),
  'storage whose address ran out: 403': storage(refuses(403, {}, storageError('AccessDenied', 'Request has expired'))),
  'storage that has it not yet: 404': storage(refuses(404, HTML_TYPE, page('not found'))),
  '409': refuses(409, JSON_TYPE, jsonError('UNKNOWN', 'a copy is under way')),
  '429': refuses(429, JSON_TYPE, jsonError('TOOMANYREQUESTS', 'slow down')),
  '429 with Retry-After: 3600': refuses(429, { ...JSON_TYPE, 'retry-after': '3600' }, jsonError('TOOMANYREQUESTS', 'slow down')),
  '429 with a Retry-After that cannot be read': refuses(429, { 'retry-after': 'soon' }, ''),
  '502 with a page': refuses(502, HTML_TYPE, page('Bad Gateway')),
  '503 with nothing': refuses(503, {}, ''),
  'a log-in page with 200': ({ response }) => answer(response, 200, HTML_TYPE, page('Sign in')),
  'a log-in page with 200 that says no type': ({ response }) => {
    response.writeHead(200);
    sendBody(response, Buffer.from(page('Sign in')));
    return true;
  },
  'a redirect to a log-in page': storage(({ response }) => answer(response, 200, HTML_TYPE, page('Sign in'))),
  'a cut before the first byte': cutAt(() => 0),
  'a cut after the first byte': cutAt(() => 1),
  'a cut in the middle': cutAt((length) => Math.ceil(length / 2)),
  'a cut before the last byte': cutAt((length) => Math.max(1, length - 1)),
  'a length that is too long': (request) => {
    const bytes = asked(request);
    request.response.writeHead(...head(request, bytes.length + 1));
    sendBody(request.response, bytes, () => setImmediate(() => request.response.destroy()));
    return true;
  },
  'a length that is too short': (request) => {
    const bytes = asked(request);
    return answer(request.response, ...head(request, bytes.length - 1), bytes.subarray(0, -1));
  },
  'a range of another length': (request) => {
    const { range, bytes } = request;
    return range !== undefined && part(request, range.start, range.end ?? bytes.length, bytes.length + 1);
  },
  'more bytes than it has, without a length': (request) => {
    request.response.writeHead(200);
    sendBody(request.response, Buffer.concat([request.bytes, Buffer.from('and more')]));
    return true;
  },
  'other bytes of the right length': (request) => {
    const bytes = Buffer.from(asked(request));
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    return answer(request.response, ...head(request, bytes.length), bytes);
  },
  'a Docker-Content-Digest that lies': (request) => {
    const [status, headers] = head(request, asked(request).length);
    return answer(request.response, status, { ...headers, 'docker-content-digest': `sha256:${'0'.repeat(64)}` }, asked(request));
  },
  'a Docker-Content-Digest that is none': (request) => {
    const [status, headers] = head(request, asked(request).length);
    return answer(request.response, status, { ...headers, 'docker-content-digest': 'sha256:none' }, asked(request));
  },
  'a redirect to itself': ({ response, path }) => answer(response, 307, { location: path }),
  'chunked, without a length': (request) => {
    const bytes = asked(request);
    const [status, { 'content-length': _, ...headers }] = head(request, bytes.length);
    request.response.writeHead(status, headers);
    sendBody(request.response, bytes);
    return true;
  },
  'gzip that nobody asked for, broken': (request) =>
    answer(request.response, 200, { 'content-encoding': 'gzip', 'content-type': request.mediaType }, request.bytes),
  'hostile words': refuses(500, JSON_TYPE, jsonError(HOSTILE_WORDS, HOSTILE_WORDS)),
  'hostile words of storage': storage(
    refuses(500, {}, storageError(`A\u001b[31m${'w'.repeat(50)}`, `\u001b[2J\u202e${'w'.repeat(5_000)}`)),
  ),
} satisfies Readonly<Record<string, Quirk>>;
