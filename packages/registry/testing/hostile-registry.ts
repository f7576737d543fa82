import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type BlobStore, listImageParts } from '../src/image-graph.ts';
import type { Descriptor } from '../src/manifest.ts';
import { type Quirk, sendBody } from './registry-quirks.ts';

/** Answers a request and returns true, or leaves it to the honest part. */
type Handler = (request: IncomingMessage, response: ServerResponse, path: string) => boolean | Promise<boolean>;

/** In-process registry for unit tests that serves given content and misbehaves by its handlers. */
export interface HostileRegistry extends AsyncDisposable {
  host: string;
  /** All requests as `METHOD path`. */
  requests: string[];
  /** `Authorization` header of every request. */
  authorizations: (string | undefined)[];
  /** Handlers in the order of trial, before the honest part. */
  handlers: Handler[];
  /** Answers requests for this digest or name by a quirk. */
  misbehave(name: string, quirk: Quirk): void;
  /** Bytes of all bodies with a status below 300. */
  readonly servedBytes: number;
  /** Serves bytes as a blob (or manifest, with its type) under its digest and the given names. */
  serve(bytes: Buffer, mediaType?: string, ...names: string[]): Descriptor;
  /** Serves all parts of an image from a store, the top under `name`. */
  serveImage(store: BlobStore, top: Descriptor, name: string): Promise<void>;
}

/** Starts a hostile registry on a random loopback port. */
export async function startHostileRegistry(): Promise<HostileRegistry> {
  const content = new Map<string, { bytes: Buffer; mediaType: string }>();
  const registry = { requests: [] as string[], authorizations: [] as (string | undefined)[], handlers: [] as Handler[] };
  let served = 0;
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse) {
    const path = request.url ?? '';
    registry.requests.push(`${request.method} ${path}`);
    registry.authorizations.push(request.headers.authorization);
    countBody(response, (bytes) => {
      served += bytes;
    });
    for (const handler of registry.handlers) if (await handler(request, response, path)) return;
    const found = content.get(nameIn(path));
    if (!found) {
      response.writeHead(404).end(JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'not here' }] }));
      return;
    }
    const range = rangeOf(request);
    const start = range?.start ?? 0;
    const body = found.bytes.subarray(start, range?.end);
    response.writeHead(range ? 206 : 200, {
      'content-type': found.mediaType,
      'content-length': body.length,
      'docker-content-digest': digestOf(found.bytes),
      ...(range ? { 'content-range': `bytes ${start}-${start + body.length - 1}/${found.bytes.length}` } : {}),
    });
    if (request.method === 'HEAD') response.end();
    else sendBody(response, body);
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const serve = (bytes: Buffer, mediaType = 'application/octet-stream', ...names: string[]): Descriptor => {
    const digest = digestOf(bytes);
    for (const name of [digest, ...names]) content.set(name, { bytes, mediaType });
    return { mediaType, digest, size: bytes.length };
  };
  return {
    ...registry,
    host: `127.0.0.1:${address.port}`,
    get servedBytes() {
      return served;
    },
    serve,
    misbehave(name, quirk) {
      registry.handlers.push((request, response, path) => {
        const found = content.get(nameIn(path));
        return (
          nameIn(path) === name &&
          found !== undefined &&
          quirk({ ...found, host: request.headers.host ?? '', path, range: rangeOf(request), response })
        );
      });
    },
    async serveImage(store, top, name) {
      const { manifests, blobs } = await listImageParts(store, top);
      for (const part of [...manifests, ...blobs]) serve(await store.readBlob(part.digest, Number.POSITIVE_INFINITY), part.mediaType);
      serve(await store.readBlob(top.digest, Number.POSITIVE_INFINITY), top.mediaType, name);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Digest or tag at the end of a path. Runtimes name the image's host to a mirror, as a query. */
const nameIn = (path: string): string => decodeURIComponent(path.split('?')[0]?.split('/').at(-1) ?? '');

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

function rangeOf({ headers: { range } }: IncomingMessage): { start: number; end: number | undefined } | undefined {
  const [, start, end] = /^bytes=(\d+)-(\d+)?$/.exec(range ?? '') ?? [];
  return start === undefined ? undefined : { start: Number(start), end: end === undefined ? undefined : Number(end) + 1 };
}

/** Counts the bytes of a body as they are written. */
function countBody(response: ServerResponse, onBytes: (bytes: number) => void): void {
  const write = response.write.bind(response);
  response.write = ((chunk: unknown, ...rest: [never]) => {
    if (response.statusCode < 300 && (typeof chunk === 'string' || chunk instanceof Uint8Array)) onBytes(Buffer.byteLength(chunk));
    return write(chunk, ...rest);
  }) as typeof write;
}
