import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { SECURITY_HEADERS } from './guard.ts';
import type { Sent, Wish } from './rows/feed.ts';
import type { Viewer } from './viewer.ts';

/** A page that takes so little that this much waits for it beyond its first message is cut off, and comes again for what it missed. */
const MOST_UNSENT = 8 * 1024 * 1024;
/** A silent stream says that it lives. */
const ALIVE_MS = 10_000;

/** Server-sent events, until the page, the viewer or the server ends it. */
export function stream(response: ServerResponse, { feed, greeting, ended }: Viewer, wish: Omit<Wish, 'greeting'>): void {
  const { out, write } = outOf(response);
  const unsent = (): number => response.writableLength + out.writableLength;
  // The first message is as large as the fleet, and is there before a page can take anything.
  let most = Number.POSITIVE_INFINITY;
  const unheard = feed.listen({ ...wish, greeting }, ({ id, data }: Sent) => {
    write(`${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`);
    if (unsent() > most) response.destroy();
  });
  most = unsent() + MOST_UNSENT;
  const alive = setInterval(() => write(': \n\n'), ALIVE_MS);
  const end = (): void => {
    clearInterval(alive);
    unheard();
    out.end();
    setTimeout(() => response.destroy(), ALIVE_MS).unref();
  };
  if (ended.aborted) end();
  ended.addEventListener('abort', end);
  response.once('close', () => {
    ended.removeEventListener('abort', end);
    clearInterval(alive);
    unheard();
    out.destroy();
  });
}

/** The way to a page: compressed where it can be read, for rows say the same words again and again. */
function outOf(response: ServerResponse): { readonly out: Writable; readonly write: (text: string) => void } {
  // The page goes by this clock.
  const date = new Date().toUTCString();
  const headers = { ...SECURITY_HEADERS, date, 'content-type': 'text/event-stream; charset=utf-8' };
  if (!takesGzip(response.req.headers)) {
    response.writeHead(200, headers).flushHeaders();
    response.on('error', () => response.destroy());
    return { out: response, write: (text) => void response.write(text) };
  }
  response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).flushHeaders();
  const gzip = createGzip();
  gzip.pipe(response);
  // A page that has left ends the pipe in mid-word.
  gzip.on('error', () => response.destroy());
  const write = (text: string): void => {
    gzip.write(text);
    gzip.flush(constants.Z_SYNC_FLUSH);
  };
  return { out: gzip, write };
}

const takesGzip = ({ 'accept-encoding': accepted = '' }: IncomingHttpHeaders): boolean =>
  /(?:^|[\s,])gzip(?:$|[\s,])/.test(String(accepted));
