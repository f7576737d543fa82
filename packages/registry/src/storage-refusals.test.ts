/** Storage behind a registry that refuses: the registry gives another address. */
import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HostileRegistry, startHostileRegistry } from '../testing/hostile-registry.ts';
import { RegistryClient } from './client.ts';
import { parseImageReference } from './image-reference.ts';

let registry: HostileRegistry;
beforeEach(async () => {
  registry = await startHostileRegistry();
});
afterEach(() => registry[Symbol.asyncDispose]());

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
  { how: 'stalls', answer: (bytes: Buffer) => bytes.subarray(0, 10), words: 'fewer than 500 bytes' },
  { how: 'sends a page', answer: () => Buffer.from('<html>log in</html>'), words: 'a web page' },
  { how: 'sends more', answer: (bytes: Buffer) => Buffer.concat([bytes, bytes]), words: 'is longer than' },
])('storage behind the registry that $how is named', async ({ answer, words }) => {
  const bytes = randomBytes(1_000);
  const blob = registry.serve(bytes);
  await using storage = await startHostileRegistry();
  storage.handlers.push((_, response) => {
    response.writeHead(200).write(answer(bytes));
    return true;
  });
  registry.handlers.push((_, response) => Boolean(response.writeHead(307, { location: `http://${storage.host}/signed` }).end()));
  const hosts = [registry.host, storage.host];
  const limits = { stall: { windowMs: 150, minBytes: 500 }, retry: { attempts: 1 } };
  await using client = new RegistryClient({ insecureHosts: hosts, ...limits });
  const reading = Array.fromAsync(client.streamBlob(parseImageReference(`${registry.host}/team/app:1`), blob));
  const named = new RegExp(`${storage.host}.*${words}|${words}.*${storage.host}`);
  await expect(reading).rejects.toMatchObject({ message: expect.stringMatching(named) });
});

test('an image that is missing in the registry that another one leads to is missing, asked for once', async () => {
  await using upstream = await startHostileRegistry();
  registry.handlers.push((_, response, path) => Boolean(response.writeHead(307, { location: `http://${upstream.host}${path}` }).end()));
  const hosts = [registry.host, upstream.host];
  await using client = new RegistryClient({ insecureHosts: hosts, retry: { attempts: 3, baseMs: 1, maxMs: 2 } });
  await expect(client.fetchManifest(parseImageReference(`${registry.host}/pause:9.99`))).rejects.toMatchObject({
    code: 'FLOTILLA_REGISTRY_NOT_FOUND',
    message: expect.stringContaining(`${upstream.host} answered 404`),
  });
  expect(registry.requests).toHaveLength(1);
});

test.each(['from an offset', 'by ranges'])('a mirror without ranges before a source that nobody reaches is read whole: %s', async (how) => {
  const bytes = randomBytes(1_000);
  const blob = registry.serve(bytes);
  registry.handlers.push(({ headers }, response) => {
    if (!headers.range) return false;
    response.writeHead(416).end();
    return true;
  });
  const rules = [{ prefix: '127.0.0.1:1', mirrors: [{ location: registry.host }] }];
  const hosts = ['127.0.0.1:1', registry.host];
  await using client = new RegistryClient({ rules, insecureHosts: hosts, retry: { attempts: 3, baseMs: 1, maxMs: 2 } });
  const image = parseImageReference('127.0.0.1:1/team/app:1');
  const hash = createHash('sha256').update(bytes.subarray(0, 400));
  const got = await Array.fromAsync(
    how === 'by ranges'
      ? client.streamRanges(image, blob, { offset: 0, ranges: { bytes: 400, before: async () => undefined } })
      : client.streamBlob(image, blob, { offset: 400, hash }),
  );
  expect(Buffer.concat(got).equals(how === 'by ranges' ? bytes : bytes.subarray(400))).toBe(true);
});
