/** Registries and their storage that do not do as asked: a link that is cut is gone on with, or begun again once, and the bytes are right. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HostileRegistry, startHostileRegistry } from '../testing/hostile-registry.ts';
import { RegistryClient } from './client.ts';
import { parseImageReference } from './image-reference.ts';

const SIZE = 300_000;
/** The first answer ends here. */
const CUT = 100_000;

/** Answers to a request for a range. */
type Quirk = (bytes: Buffer, range: { start: number; end: number | undefined }, response: ServerResponse) => void;

const part = (bytes: Buffer, start: number, end: number, response: ServerResponse): void => {
  response.writeHead(206, { 'content-length': end - start, 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` });
  response.end(bytes.subarray(start, end));
};
const refuse = (response: ServerResponse): void => {
  response.writeHead(416, { 'content-type': 'application/json' });
  response.end('{"errors":[{"code":"BLOB_UNKNOWN","message":"We don\'t understand your Range"}]}');
};

let registry: HostileRegistry;
beforeEach(async () => {
  registry = await startHostileRegistry();
});
afterEach(() => registry[Symbol.asyncDispose]());

const rangeOf = ({ headers: { range } }: IncomingMessage): { start: number; end: number | undefined } | undefined => {
  const [, start, end] = /^bytes=(\d+)-(\d+)?$/.exec(range ?? '') ?? [];
  return start === undefined ? undefined : { start: Number(start), end: end === undefined ? undefined : Number(end) + 1 };
};

test.each<{ name: string; quirk: Quirk; mostServed: number }>([
  {
    name: 'open ranges are refused, as by go-containerregistry',
    quirk: (bytes, { start, end }, response) => (end === undefined ? refuse(response) : part(bytes, start, end, response)),
    mostServed: SIZE,
  },
  { name: 'every range is refused', quirk: (_, __, response) => refuse(response), mostServed: SIZE + CUT },
  {
    name: 'the whole blob comes',
    quirk: (bytes, _, response) => void response.writeHead(200, { 'content-length': bytes.length }).end(bytes),
    mostServed: SIZE + CUT,
  },
  {
    name: 'an earlier range comes',
    quirk: (bytes, { start }, response) => part(bytes, start - 50_000, SIZE, response),
    mostServed: SIZE + 50_000,
  },
  {
    name: 'a later range comes',
    quirk: (bytes, { start }, response) => part(bytes, start + 1, SIZE, response),
    mostServed: 2 * SIZE,
  },
  {
    name: 'a range comes that does not say which it is',
    quirk: (bytes, { start }, response) => void response.writeHead(206, { 'content-length': SIZE - start }).end(bytes.subarray(start)),
    mostServed: 2 * SIZE,
  },
])('$name', async ({ quirk, mostServed }) => {
  const bytes = randomBytes(SIZE);
  const blob = registry.serve(bytes);
  let [isFirst, served] = [true, 0];
  registry.handlers.push((request, response) => {
    const range = rangeOf(request);
    if (isFirst) {
      isFirst = false;
      served += CUT;
      response.writeHead(200, { 'content-length': SIZE });
      response.write(bytes.subarray(0, CUT), () => setImmediate(() => response.destroy()));
    } else if (range) {
      quirk(bytes, range, response);
      served += Number(response.getHeader('content-length') ?? 0) * Number(response.statusCode < 300);
    } else {
      served += SIZE;
      response.writeHead(200, { 'content-length': SIZE }).end(bytes);
    }
    return true;
  });
  await using client = new RegistryClient({ insecureHosts: [registry.host], retry: { attempts: 3, baseMs: 1, maxMs: 2 } });
  const image = parseImageReference(`${registry.host}/team/app:1`);
  const read = Buffer.concat(await Array.fromAsync(client.streamBlob(image, blob)));
  expect(read.equals(bytes)).toBe(true);
  expect(served).toBeLessThanOrEqual(mostServed);
});

const S3 = '<?xml version="1.0"?><Error><Code>RequestTimeout</Code><Message>Your socket connection was not read in time</Message></Error>';

test.each([
  { status: 400, body: S3, words: 'RequestTimeout Your socket connection was not read in time' },
  { status: 403, body: S3.replace('RequestTimeout', 'AccessDenied'), words: 'AccessDenied' },
  { status: 404, body: '<html>', words: '' },
])(
  'storage behind the registry answers $status for a while: the registry is asked for a fresh address',
  async ({ status, body, words }) => {
    const bytes = randomBytes(1_000);
    const blob = registry.serve(bytes);
    let refusals = 2;
    const addresses: string[] = [];
    await using storage = await startHostileRegistry();
    storage.handlers.push((request, response) => {
      addresses.push(request.url ?? '');
      if (refusals-- > 0) response.writeHead(status).end(body);
      else response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
      return true;
    });
    registry.handlers.push((_, response) => {
      response.writeHead(307, { location: `http://${storage.host}/signed?n=${addresses.length}` }).end();
      return true;
    });
    const image = parseImageReference(`${registry.host}/team/app:1`);
    const hosts = [registry.host, storage.host];
    const read = async (attempts: number) => {
      await using client = new RegistryClient({ insecureHosts: hosts, retry: { attempts, baseMs: 1, maxMs: 2 } });
      return Buffer.concat(await Array.fromAsync(client.streamBlob(image, blob)));
    };
    expect((await read(3)).equals(bytes)).toBe(true);
    expect(addresses).toEqual(['/signed?n=0', '/signed?n=1', '/signed?n=2']);
    refusals = 9;
    const said = `${storage.host} (storage of ${registry.host}) answered ${status}${words ? ` (${words}` : ''}`;
    await expect(read(1)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_UNAVAILABLE', message: expect.stringContaining(said) });
  },
);

test.each([
  { name: 'a log-in page', head: { 'content-type': 'text/html; charset=utf-8' }, says: /answered a web page in place of blob sha256:/ },
  { name: 'another length', head: { 'content-length': 999 }, says: /answered 999 bytes for blob sha256:\w+, which has 1000/ },
])('$name with status 200 is refused before its first byte', async ({ head, says }) => {
  const blob = registry.serve(randomBytes(1_000));
  registry.handlers.push((_, response) => {
    response.writeHead(200, head).end('x'.repeat(999));
    return true;
  });
  await using client = new RegistryClient({ insecureHosts: [registry.host], retry: { attempts: 2, baseMs: 1, maxMs: 2 } });
  const chunks: Buffer[] = [];
  const read = async () => {
    for await (const chunk of client.streamBlob(parseImageReference(`${registry.host}/team/app:1`), blob)) chunks.push(chunk);
  };
  await expect(read()).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_BAD_RESPONSE', message: expect.stringMatching(says) });
  expect(chunks).toEqual([]);
});
