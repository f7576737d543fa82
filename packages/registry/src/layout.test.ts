import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settled } from '@flotilla/pace/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HostileRegistry, startHostileRegistry } from '../testing/hostile-registry.ts';
import { writeImage, writeIndex, writeLayer } from '../testing/image-writer.ts';
import { MemoryBlobs } from '../testing/memory-blobs.ts';
import { RegistryClient } from './client.ts';
import type { RegistryError } from './errors.ts';
import { formatImageReference, parseImageReference } from './image-reference.ts';
import { downloadImage, OciLayout } from './layout.ts';

const platform = { os: 'linux', architecture: 'amd64' };
let registry: HostileRegistry;
let client: RegistryClient;
let directory: string;

beforeEach(async () => {
  registry = await startHostileRegistry();
  client = new RegistryClient({ insecureHosts: [registry.host], retry: { attempts: 3, baseMs: 1 } });
  directory = await mkdtemp(join(tmpdir(), 'flotilla-layout-'));
});
afterEach(async () => {
  await client.close();
  await registry[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const reference = (name: string) => parseImageReference(`${registry.host}/app:${name}`);
const partialOf = (digest: string) => join(directory, 'ingest', `${digest.slice(7)}.partial`);
const timesServed = (digest: string) => registry.requests.filter((r) => r.endsWith(digest)).length;

describe('fetchBlob', () => {
  test('goes on from a partial file and asks only for the rest', async () => {
    const bytes = randomBytes(100_000);
    const blob = registry.serve(bytes);
    const layout = await OciLayout.open(directory);
    await writeFile(partialOf(blob.digest), bytes.subarray(0, 60_000));
    const ranges: (string | undefined)[] = [];
    registry.handlers.push((request) => {
      ranges.push(request.headers.range);
      return false;
    });
    expect(await layout.fetchBlob(client, reference('1'), blob)).toBe('fetched');
    expect(ranges).toEqual(['bytes=60000-99999']);
    expect(await readFile(layout.blobPath(blob.digest))).toEqual(bytes);
    expect(await layout.fetchBlob(client, reference('1'), blob)).toBe('present');
    expect(await readdir(join(directory, 'ingest'))).toEqual([]);
  });

  test.each([
    { name: 'damaged', partial: (bytes: Buffer) => Buffer.concat([Buffer.from('damaged'), bytes.subarray(7, 50_000)]) },
    { name: 'longer than the blob', partial: (bytes: Buffer) => Buffer.concat([bytes, bytes]) },
  ])('a partial file that is $name is thrown away and the blob fetched whole', async ({ partial }) => {
    const bytes = randomBytes(100_000);
    const blob = registry.serve(bytes);
    const layout = await OciLayout.open(directory);
    await writeFile(partialOf(blob.digest), partial(bytes));
    await layout.fetchBlob(client, reference('1'), blob);
    expect(await readFile(layout.blobPath(blob.digest))).toEqual(bytes);
  });

  test('a partial file that is complete needs no request', async () => {
    const bytes = randomBytes(1000);
    const blob = registry.serve(bytes);
    const layout = await OciLayout.open(directory);
    await writeFile(partialOf(blob.digest), bytes);
    await layout.fetchBlob(client, reference('1'), blob);
    expect(registry.requests).toEqual([]);
    expect(await layout.has(blob.digest)).toBe(true);
  });

  test('content that is wrong twice leaves nothing behind', async () => {
    const blob = registry.serve(Buffer.alloc(100, 'x'));
    registry.handlers.push((_request, response) => {
      response.end(Buffer.alloc(100, 'y'));
      return true;
    });
    const layout = await OciLayout.open(directory);
    await expect(layout.fetchBlob(client, reference('1'), blob)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_DIGEST_MISMATCH' });
    expect(registry.requests).toHaveLength(2);
    expect(await layout.has(blob.digest)).toBe(false);
    expect(await readdir(join(directory, 'ingest'))).toEqual([]);
  });

  test('content of a mirror that is wrong is fetched from the source', async () => {
    await using mirror = await startHostileRegistry();
    const bytes = randomBytes(100);
    const blob = registry.serve(bytes);
    mirror.handlers.push((_request, response) => {
      response.end(Buffer.alloc(100, 'y'));
      return true;
    });
    const rules = [{ prefix: registry.host, mirrors: [{ location: mirror.host }] }];
    await using mirrored = Object.assign(new RegistryClient({ rules, insecureHosts: [registry.host, mirror.host] }), {
      async [Symbol.asyncDispose](this: RegistryClient) {
        await this.close();
      },
    });
    const layout = await OciLayout.open(directory);
    expect(await layout.fetchBlob(mirrored, reference('1'), blob)).toBe('fetched');
    expect([mirror.requests.length, registry.requests.length]).toEqual([1, 1]);
    expect(await readFile(layout.blobPath(blob.digest))).toEqual(bytes);
  });

  test('parallel calls share one download, and a caller that gives up does not take the others along', async () => {
    const bytes = randomBytes(200_000);
    const blob = registry.serve(bytes);
    const layout = await OciLayout.open(directory);
    const stop = new AbortController();
    let first = true;
    registry.handlers.push((_request, response) => {
      if (!first) return false;
      first = false;
      response.writeHead(200).write(bytes.subarray(0, 70_000));
      return true;
    });
    const quitter = layout.fetchBlob(client, reference('1'), blob, { signal: stop.signal });
    // The download is its own: whoever comes later joins.
    await settled(() => expect(registry.requests).toHaveLength(1));
    setTimeout(() => stop.abort());
    const others = [1, 2, 3].map(() => layout.fetchBlob(client, reference('1'), blob));
    await expect(quitter).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_ABORTED' });
    expect((await Promise.all(others)).filter((o) => o === 'fetched')).toHaveLength(1);
    expect(registry.requests).toHaveLength(2);
  });
});

describe('downloadImage', () => {
  async function serveTwoImages() {
    const store = new MemoryBlobs();
    const file = (path: string, size: number) => ({
      content: { files: [{ path, content: { bytes: randomBytes(size) } }] },
      compression: 'none' as const,
    });
    const base = await writeLayer(store, file('base', 300_000));
    const one = await writeImage(store, { layers: [base, file('one', 50_000)], platform });
    const two = await writeImage(store, { layers: [base, file('two', 50_000)], platform });
    await registry.serveImage(store, await writeIndex(store, [one]), 'one');
    await registry.serveImage(store, two, 'two');
    return { base };
  }

  const outcome = (name: string, layout: OciLayout, signal?: AbortSignal) =>
    downloadImage(reference(name), { client, layout, platform, signal }).catch(({ code }: RegistryError) => code);

  test('brings images at once, fetches a shared layer once, and finds all present the second time', async () => {
    const { base } = await serveTwoImages();
    const layout = await OciLayout.open(directory);
    const run = () => Promise.all(['one', 'two', 'absent'].map((name) => outcome(name, layout)));
    expect(await run()).toEqual(['downloaded', 'downloaded', 'FLOTILLA_REGISTRY_NOT_FOUND']);
    expect(timesServed(base.descriptor.digest)).toBe(1);
    const requests = registry.requests.length;
    expect(await run()).toEqual(['present', 'present', 'FLOTILLA_REGISTRY_NOT_FOUND']);
    expect(registry.requests.length - requests).toBe(3);
    expect((await layout.images()).map((entry) => entry.annotations?.['io.containerd.image.name'])).toEqual([
      formatImageReference(reference('one')),
      formatImageReference(reference('two')),
    ]);
  });

  test('an image with a broken layer fails alone', async () => {
    await serveTwoImages();
    const layout = await OciLayout.open(directory);
    const manifest: { layers: { digest: string }[] } = JSON.parse((await client.fetchManifest(reference('two'))).bytes.toString());
    registry.handlers.push((_request, response, path) => {
      if (!path.endsWith(manifest.layers[1]?.digest ?? 'none')) return false;
      response.end('wrong');
      return true;
    });
    const [one, two] = await Promise.allSettled(['one', 'two'].map((name) => downloadImage(reference(name), { client, layout, platform })));
    expect(one).toEqual({ status: 'fulfilled', value: 'downloaded' });
    expect(two).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining(manifest.layers[1]?.digest ?? 'none') } });
  });

  test('a stopped download ends with ABORTED', async () => {
    await serveTwoImages();
    expect(await outcome('one', await OciLayout.open(directory), AbortSignal.abort())).toBe('FLOTILLA_REGISTRY_ABORTED');
  });
});

describe('the directory', () => {
  test('a damaged blob is removed when it is read', async () => {
    const layout = await OciLayout.open(directory);
    const { digest } = await layout.putBlob(Buffer.from('content'));
    await truncate(layout.blobPath(digest), 3);
    await expect(layout.readBlob(digest, 100)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_DIGEST_MISMATCH' });
    expect(await layout.has(digest)).toBe(false);
  });

  test('names survive many writers at once, and temporary files of a killed process go', async () => {
    await writeFile(join((await OciLayout.open(directory)).directory, 'ingest', 'left.tmp'), 'x');
    const layout = await OciLayout.open(directory);
    const image = await writeImage(layout, { layers: [], platform });
    await Promise.all(Array.from({ length: 20 }, (_, i) => layout.addImage(image, `registry.example/a:${i}`)));
    expect(await layout.images()).toHaveLength(20);
    await expect(stat(join(directory, 'ingest', 'left.tmp'))).rejects.toThrow(/ENOENT/);
  });

  test.each(['gzip', 'zstd', 'none'] as const)('the same files give the same digest, in any order (%s)', async (compression) => {
    const files = Array.from({ length: 50 }, (_, i) => ({ path: `dir${i % 7}/f${i}`, content: { bytes: Buffer.alloc(9000, `${i}`) } }));
    const write = (list: typeof files) => writeImage(new MemoryBlobs(), { layers: [{ content: { files: list }, compression }], platform });
    expect(await write([...files].reverse())).toEqual(await write(files));
  });
});
