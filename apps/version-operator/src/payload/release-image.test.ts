import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileCache, RegistryClient } from '@flotilla/registry';
import { type ServedImage, serveImage } from '@flotilla/registry/testing';
import { createLogger } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { releaseImages } from './release-image.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const { signal } = new AbortController();
let root = '';
let image: ServedImage | undefined;
let opened: RegistryClient | undefined;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-release-image-'));
});
afterEach(async () => {
  await opened?.close();
  await image?.[Symbol.asyncDispose]();
  [opened, image] = [undefined, undefined];
  await rm(root, { recursive: true, force: true });
});

/** Serves an image of these files, and opens the way to it. */
async function serve(content: Readonly<Record<string, string>>) {
  const served = await serveImage(content);
  image = served;
  const client = new RegistryClient({ insecureHosts: [served.host], retry: { attempts: 1 } });
  opened = client;
  return { pullSpec: served.pullSpec, client, asked: () => served.requests };
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
  await using unreachable = new RegistryClient({ retry: { attempts: 1 } });
  const images = releaseImages({ client: unreachable, cacheFolder: root, logger });
  expect(await images.read(`registry.invalid/release@${digest}`, signal)).toEqual(wanted.slice(0, 1));
});

test('a release that cannot be kept is read all the same', async () => {
  const { pullSpec, client } = await serve(files);
  await writeFile(join(root, 'no-folder'), '');
  const images = releaseImages({ client, cacheFolder: join(root, 'no-folder'), logger });
  expect(await images.read(pullSpec, signal)).toEqual(wanted);
});
