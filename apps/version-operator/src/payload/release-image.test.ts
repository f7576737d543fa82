import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileCache, listImageParts, MemoryBlobs, RegistryClient, writeImage } from '@flotilla/registry';
import { createLogger } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { releaseImages } from './release-image.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const { signal } = new AbortController();
let root = '';
let close: () => Promise<void> = async () => undefined;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-release-image-'));
});
afterEach(async () => {
  await close();
  close = async () => undefined;
  await rm(root, { recursive: true, force: true });
});

/** Serves an image of these files; says its pull spec by digest, and how often it was asked. */
async function serve(files: Readonly<Record<string, string>>) {
  const store = new MemoryBlobs();
  const image = await writeImage(store, {
    platform: { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch },
    layers: [{ content: { files: Object.entries(files).map(([path, bytes]) => ({ path, content: { bytes } })) }, compression: 'gzip' }],
  });
  const { manifests, blobs } = await listImageParts(store, image);
  const types = new Map([...manifests, ...blobs].map(({ digest, mediaType }) => [digest, mediaType]));
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    const digest = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
    void store
      .readBlob(digest, 2 ** 24)
      .then((bytes) => response.writeHead(200, { 'content-type': types.get(digest) ?? '', 'content-length': bytes.length }).end(bytes))
      .catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const host = `127.0.0.1:${address.port}`;
  const client = new RegistryClient({ insecureHosts: [host], retry: { attempts: 1 } });
  close = async () => {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { pullSpec: `${host}/releases/release@${image.digest}`, client, asked: () => requests };
}

const files = { 'manifests/a.yaml': 'a', 'release-manifests/b.yaml': 'b', 'usr/bin/other': 'x' };
const wanted = [
  { path: 'manifests/a.yaml', content: Buffer.from('a') },
  { path: 'release-manifests/b.yaml', content: Buffer.from('b') },
];

test('the files of a release are read once, and then kept', async () => {
  const { pullSpec, client, asked } = await serve(files);
  const read = () => releaseImages({ client, cacheFolder: root, logger }).read(pullSpec, signal);
  expect(await read()).toEqual(wanted);
  const before = asked();
  expect(before).toBeGreaterThan(0);
  expect(await read()).toEqual(wanted);
  expect(asked()).toBe(before);
});

test('what is kept is at hand when no registry is', async () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  await new FileCache({ folder: root }).write(digest, new Map([['manifests/a.yaml', Buffer.from('a')]]));
  await using client = new RegistryClient({ retry: { attempts: 1 } });
  const images = releaseImages({ client, cacheFolder: root, logger });
  expect(await images.read(`registry.invalid/release@${digest}`, signal)).toEqual(wanted.slice(0, 1));
});

test('a release that cannot be kept is read all the same', async () => {
  const { pullSpec, client } = await serve(files);
  await writeFile(join(root, 'no-folder'), '');
  const images = releaseImages({ client, cacheFolder: join(root, 'no-folder'), logger });
  expect(await images.read(pullSpec, signal)).toEqual(wanted);
});
