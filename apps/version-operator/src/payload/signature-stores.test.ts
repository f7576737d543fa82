import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FollowingConnections } from '@flotilla/http';
import type { SignatureStore } from '@flotilla/release/signatures';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressedSignatureStore } from './signature-stores.ts';

const digest = `sha256:${'a'.repeat(64)}`;
let server: Server;
let connections: FollowingConnections;
let base = '';
const requests: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? '';
    requests.push(path);
    const found = /^\/(\w+)\/(?:moved\/)?sha256=a{64}\/signature-(\d)$/.exec(path);
    const [kind, index] = [found?.[1], Number(found?.[2])];
    if (kind === 'broken') response.writeHead(503).end();
    else if (kind === 'huge') response.writeHead(200).end(Buffer.alloc(100_000));
    else if (kind === 'moves' && !path.includes('/moved/'))
      response.writeHead(302, { location: path.replace('/moves/', '/moves/moved/') }).end();
    else if (kind !== undefined && (index < 3 || kind === 'endless')) response.writeHead(200).end(`signature ${index}`);
    else response.writeHead(404).end('not here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  base = `http://127.0.0.1:${address.port}`;
  connections = new FollowingConnections(() => ({}));
});
afterAll(async () => {
  await connections?.[Symbol.asyncDispose]();
  server?.closeAllConnections();
  server?.close();
});

const storeAt = (url: string | URL): SignatureStore => addressedSignatureStore({ name: 'store-a', url: new URL(url) }, connections);
async function read(store: SignatureStore): Promise<string[]> {
  const found = await Array.fromAsync(store.signatures(digest, new AbortController().signal));
  return found.map((bytes) => Buffer.from(bytes).toString());
}

describe('a store behind a URL', () => {
  test.each(['plain', 'plain/', 'moves'])('is read until a signature is missing: %s', async (path) => {
    requests.length = 0;
    expect(await read(storeAt(`${base}/${path}`))).toEqual(['signature 1', 'signature 2']);
    expect(requests.at(-1)).toMatch(/signature-3$/);
  });

  test('is asked for nine signatures at most', async () => {
    expect(await read(storeAt(`${base}/endless`))).toHaveLength(9);
  });

  test.each([
    { name: 'an answer that is none', path: 'broken', why: /\/broken\/sha256=a{64}\/signature-1 answered with HTTP status 503/ },
    { name: 'a file that is too large', path: 'huge', why: /more than 65536 bytes/ },
  ])('$name is an error', async ({ path, why }) => {
    await expect(read(storeAt(`${base}/${path}`))).rejects.toThrow(why);
  });

  test('nothing secret of its address is in its name', () => {
    expect(storeAt('https://user:secret@store.example/a?token=secret').name).toBe('store-a (https://store.example/a)');
  });
});

describe('a store in a folder', () => {
  let root = '';
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'flotilla-signatures-'));
    await mkdir(join(root, `sha256=${'a'.repeat(64)}`));
    for (const index of [1, 2, 4]) await writeFile(join(root, `sha256=${'a'.repeat(64)}`, `signature-${index}`), `signature ${index}`);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  test('is read until a signature is missing', async () => {
    expect(await read(storeAt(pathToFileURL(root)))).toEqual(['signature 1', 'signature 2']);
    expect(await read(storeAt(pathToFileURL(join(root, 'nowhere'))))).toEqual([]);
  });
});
