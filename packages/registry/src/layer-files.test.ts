import { createHash, randomBytes } from 'node:crypto';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HostileRegistry, startHostileRegistry } from '../testing/hostile-registry.ts';
import { MemoryBlobs } from '../testing/memory-blobs.ts';
import { RegistryClient } from './client.ts';
import { parseImageReference } from './image-reference.ts';
import { type ReadLayerFilesOptions, readLayerFiles } from './layer-files.ts';
import { MediaType } from './manifest.ts';
import { resolveImage } from './resolve.ts';

/** A tar entry: path to content, or a header for other types than files. */
type Entries = readonly (readonly [string, string | Buffer | Partial<Header>])[];

let registry: HostileRegistry;
let client: RegistryClient;

beforeEach(async () => {
  registry = await startHostileRegistry();
  client = new RegistryClient({ insecureHosts: [registry.host], retry: { attempts: 1 } });
});
afterEach(async () => {
  await client.close();
  await registry[Symbol.asyncDispose]();
});

async function tarOf(entries: Entries): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of entries) {
    if (typeof content === 'string' || Buffer.isBuffer(content)) archive.entry({ name }, content);
    else archive.entry({ name, ...content });
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Serves an image of these layers (lowest first) and reads it. */
async function read(layers: readonly Buffer[], options: ReadLayerFilesOptions): Promise<Record<string, string>> {
  const store = new MemoryBlobs();
  const config = { mediaType: MediaType.ociConfig, ...(await store.putBlob(Buffer.from('{}'))) };
  const descriptors = [];
  for (const layer of layers) descriptors.push({ mediaType: MediaType.ociLayer, ...(await store.putBlob(layer)) });
  const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers: descriptors }));
  const top = { mediaType: MediaType.ociManifest, ...(await store.putBlob(manifest)) };
  await registry.serveImage(store, top, '1');
  const image = await resolveImage(client, parseImageReference(`${registry.host}/a:1`));
  const files = await readLayerFiles(client, image, options);
  return Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()]));
}

const all = { match: () => true };
const link = (linkname: string): Partial<Header> => ({ type: 'symlink', linkname });

describe('readLayerFiles', () => {
  test.each([
    { name: 'plain tar', squeeze: (b: Buffer) => b },
    { name: 'gzip', squeeze: (b: Buffer) => gzipSync(b) },
    { name: 'zstd', squeeze: (b: Buffer) => zstdCompressSync(b) },
  ])('reads $name', async ({ squeeze }) => {
    const long = `${'d/'.repeat(60)}${'f'.repeat(150)}`;
    const tar = await tarOf([
      ['./etc/a', 'A'],
      [long, 'long'],
      ['empty', ''],
    ]);
    expect(await read([squeeze(tar)], all)).toEqual({ 'etc/a': 'A', [long]: 'long', empty: '' });
  });

  const skippable = Buffer.concat([Buffer.from('5a2a4d18', 'hex'), Buffer.from([5, 0, 0, 0]), Buffer.from('hello')]);
  const emptySkippable = Buffer.from('502a4d1800000000', 'hex');
  /** Packs layers as zstd:chunked does: a frame for each part of the archive, and skippable frames with the table of contents. */
  const inFrames = (tar: Buffer, size: number): Buffer =>
    Buffer.concat([
      skippable,
      ...Array.from({ length: Math.ceil(tar.length / size) }, (_, i) => zstdCompressSync(tar.subarray(i * size, (i + 1) * size))),
      skippable,
      emptySkippable,
    ]);

  test.each<{ name: string; squeeze: (tar: Buffer) => Buffer }>([
    { name: 'zstd in one frame for each 700 bytes, with frames to skip', squeeze: (tar) => inFrames(tar, 700) },
    { name: 'zstd in frames of seven bytes', squeeze: (tar) => inFrames(tar, 7) },
    {
      name: 'zstd with checksums, a frame without its size, and an empty frame',
      squeeze: (tar) =>
        Buffer.concat([
          zstdCompressSync(tar.subarray(0, 1000), { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
          zstdCompressSync(Buffer.alloc(0)),
          zstdCompressSync(tar.subarray(1000), { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } }),
        ]),
    },
    { name: 'gzip of several members', squeeze: (tar) => Buffer.concat([gzipSync(tar.subarray(0, 999)), gzipSync(tar.subarray(999))]) },
    { name: 'gzip padded with zeros', squeeze: (tar) => Buffer.concat([gzipSync(tar), Buffer.alloc(200_000)]) },
  ])('reads all of $name', async ({ squeeze }) => {
    const content = randomBytes(150_000).toString('hex');
    const small = squeeze(
      await tarOf([
        ['a', 'A'],
        ['big', content.slice(0, 3_000)],
        ['z', 'Z'],
      ]),
    );
    expect(await read([small], all)).toEqual({ a: 'A', big: content.slice(0, 3_000), z: 'Z' });
    if (small.length > 10_000) return;
    expect(
      await read(
        [
          squeeze(
            await tarOf([
              ['big', content],
              ['z', 'Z'],
            ]),
          ),
        ],
        all,
      ),
    ).toEqual({ big: content, z: 'Z' });
  });

  test.each<{ name: string; spoil: (tar: Buffer) => Buffer; message: RegExp }>([
    { name: 'zstd', spoil: (tar) => Buffer.concat([zstdCompressSync(tar), Buffer.from('rest')]), message: /data after its last frame/ },
    { name: 'zstd, zeros', spoil: (tar) => Buffer.concat([zstdCompressSync(tar), Buffer.alloc(4)]), message: /data after its last frame/ },
    { name: 'zstd cut in a frame', spoil: (tar) => zstdCompressSync(tar).subarray(0, -1), message: /middle of a frame/ },
    {
      name: 'zstd cut in a magic number',
      spoil: (tar) => Buffer.concat([zstdCompressSync(tar), Buffer.of(0x28)]),
      message: /middle of a frame/,
    },
    {
      name: 'zstd cut in a frame to skip',
      spoil: (tar) => Buffer.concat([zstdCompressSync(tar), skippable.subarray(0, -2)]),
      message: /middle/,
    },
    { name: 'gzip', spoil: (tar) => Buffer.concat([gzipSync(tar), Buffer.from('rest')]), message: /incorrect header/ },
    {
      name: 'gzip after zeros',
      spoil: (tar) => Buffer.concat([gzipSync(tar), Buffer.alloc(3), Buffer.from('x')]),
      message: /data after its end/,
    },
    {
      name: 'gzip, far behind',
      spoil: (tar) => Buffer.concat([gzipSync(tar), Buffer.alloc(200_000), gzipSync(tar)]),
      message: /data after its end/,
    },
  ])('what is left over behind the end of $name is an error', async ({ spoil, message }) => {
    await expect(read([spoil(await tarOf([['a', 'A']]))], all)).rejects.toMatchObject({
      code: 'FLOTILLA_REGISTRY_BAD_LAYER',
      message: expect.stringMatching(message),
    });
  });

  test.each<{ name: string; layers: Entries[]; want: Record<string, string> }>([
    {
      name: 'an absolute name',
      layers: [
        [['/etc/a', '1']],
        [
          ['/etc/.wh.none', ''],
          ['//etc/b', '2'],
        ],
      ],
      want: { 'etc/a': '1', 'etc/b': '2' },
    },
    {
      name: 'a hard link with an absolute target',
      layers: [
        [
          ['d/a', '1'],
          ['b', { type: 'link', linkname: '/d/a' }],
        ],
      ],
      want: { 'd/a': '1', b: '1' },
    },
    {
      name: 'a hard link to a link that dangles is that link',
      layers: [
        [
          ['l', link('nowhere')],
          ['h', { type: 'link', linkname: 'l' }],
          ['a', '1'],
        ],
        [['nowhere', '2']],
      ],
      want: { a: '1', nowhere: '2', l: '2', h: '2' },
    },
    { name: 'an upper file wins', layers: [[['a', '1']], [['a', '2']]], want: { a: '2' } },
    {
      name: 'a later entry of one layer wins',
      layers: [
        [
          ['a', '1'],
          ['a', '2'],
        ],
      ],
      want: { a: '2' },
    },
    {
      name: 'a whiteout removes a file',
      layers: [
        [
          ['d/a', '1'],
          ['d/b', '1'],
        ],
        [['d/.wh.a', '']],
      ],
      want: { 'd/b': '1' },
    },
    {
      name: 'a whiteout removes a directory',
      layers: [
        [
          ['d/a', '1'],
          ['e', '1'],
        ],
        [['.wh.d', '']],
      ],
      want: { e: '1' },
    },
    {
      name: 'a whiteout leaves what its own layer brings',
      layers: [
        [['d/a', '1']],
        [
          ['d/b', '2'],
          ['.wh.d', ''],
        ],
      ],
      want: { 'd/b': '2' },
    },
    {
      name: 'an opaque directory hides lower children only',
      layers: [
        [['d/a', '1']],
        [
          ['d/b', '2'],
          ['d/.wh..wh..opq', ''],
        ],
      ],
      want: { 'd/b': '2' },
    },
    { name: 'a file over a directory hides its children', layers: [[['d/a', '1']], [['d', '2']]], want: { d: '2' } },
    { name: 'a file comes back above its whiteout', layers: [[['a', '1']], [['.wh.a', '']], [['a', '3']]], want: { a: '3' } },
    {
      name: 'a link to a file',
      layers: [
        [
          ['real/a', '1'],
          ['l', link('/real/a')],
        ],
      ],
      want: { 'real/a': '1', l: '1' },
    },
    {
      name: 'a link to a directory of a lower layer',
      layers: [[['usr/lib/a', '1']], [['lib', link('usr/lib')]]],
      want: { 'usr/lib/a': '1', 'lib/a': '1' },
    },
    {
      name: 'a file written through a lower layer’s link',
      layers: [[['lib', link('usr/lib')]], [['lib/b', '2']]],
      want: { 'usr/lib/b': '2', 'lib/b': '2' },
    },
    {
      name: 'a hard link',
      layers: [
        [
          ['a', '1'],
          ['b', { type: 'link', linkname: 'a' }],
        ],
      ],
      want: { a: '1', b: '1' },
    },
    {
      name: 'loops of links have no file',
      layers: [
        [
          ['x', link('y')],
          ['y', link('x')],
          ['d/up', link('..')],
          ['a', '1'],
        ],
      ],
      want: { a: '1' },
    },
    {
      name: 'links out of the image have no file',
      layers: [
        [
          ['x', link('../../../../etc/passwd')],
          ['a', '1'],
        ],
      ],
      want: { a: '1' },
    },
  ])('$name', async ({ layers, want }) => {
    expect(await read(await Promise.all(layers.map(tarOf)), all)).toEqual(want);
  });

  test('files behind a link are read although only the link’s name matches', async () => {
    const layers = [
      await tarOf([
        ['opt/catalog/p/c.json', '{}'],
        ['other', 'x'],
      ]),
      await tarOf([['configs', link('opt/catalog')]]),
    ];
    expect(await read(layers, { match: (path) => path.startsWith('configs/') })).toEqual({ 'configs/p/c.json': '{}' });
    expect(await read(layers, { paths: ['configs/p/c.json', 'absent'] })).toEqual({ 'configs/p/c.json': '{}' });
  });

  test('layers below the one with the wanted file are not fetched', async () => {
    const lower = await tarOf([['big', Buffer.alloc(100_000)]]);
    expect(await read([lower, await tarOf([['a', '1']])], { paths: ['a'] })).toEqual({ a: '1' });
    const digest = createHash('sha256').update(lower).digest('hex');
    expect(registry.requests.filter((r) => r.includes(digest))).toEqual([]);
    // ... but they are when a directory above might have been replaced.
    expect(await read([await tarOf([['d/a', '1']]), await tarOf([['d', 'file']])], { paths: ['d/a'] })).toEqual({});
  });

  test.each<{ name: string; entries: Entries; message: RegExp; options?: ReadLayerFilesOptions }>([
    { name: '".."', entries: [['a/../../b', 'x']], message: /"\.\." in the path/ },
    { name: 'a hard link out', entries: [['a', { type: 'link', linkname: '../etc/shadow' }]], message: /"\.\." in the path/ },
    { name: 'a hard link to nothing', entries: [['a', { type: 'link', linkname: 'b' }]], message: /not a file/ },
    {
      name: 'writing through a link that leads out',
      entries: [
        ['d', link('../..')],
        ['d/x', 'x'],
      ],
      message: /leads out of the image/,
    },
    {
      name: 'writing through a loop of links',
      entries: [
        ['d', link('e')],
        ['e', link('d')],
        ['d/x', 'x'],
      ],
      message: /loop of links/,
    },
    { name: 'a wanted path through a loop', entries: [['d', link('d')]], options: { paths: ['d/x'] }, message: /loop of links/ },
    { name: 'a path deeper than any', entries: [[`${'d/'.repeat(300)}f`, 'x']], message: /deeper than 256/ },
  ])('refuses $name', async ({ entries, message, options }) => {
    const failure = expect.objectContaining({ code: 'FLOTILLA_REGISTRY_BAD_LAYER', message: expect.stringMatching(message) });
    await expect(read([await tarOf(entries)], options ?? all)).rejects.toEqual(failure);
  });

  test.each<{ name: string; entries: Entries; options: ReadLayerFilesOptions; message: RegExp }>([
    { name: 'a file', entries: [['a', Buffer.alloc(2000)]], options: { ...all, maxFileBytes: 1000 }, message: /file "a" has 2000 bytes/ },
    {
      name: 'all files',
      entries: [
        ['a', Buffer.alloc(900)],
        ['b', Buffer.alloc(900)],
      ],
      options: { ...all, maxTotalBytes: 1000 },
      message: /more than 1000 bytes/,
    },
    {
      name: 'directories that entries imply',
      entries: [
        ['a/b/c', ''],
        ['d/e/f', ''],
      ],
      options: { ...all, maxEntries: 5 },
      message: /more than 5 entries \(directories counted/,
    },
    {
      name: 'the characters of their paths, however few there are',
      entries: [[Array.from({ length: 4 }, () => 'd'.repeat(200)).join('/'), '']],
      options: { ...all, maxEntries: 5 },
      message: /more than 5 entries/,
    },
    {
      name: 'the characters of what links lead to',
      entries: [['a', link(Array.from({ length: 4 }, () => 'd'.repeat(200)).join('/'))]],
      options: { ...all, maxEntries: 5 },
      message: /more than 5 entries/,
    },
    {
      name: 'the number of entries',
      entries: [
        ['a', ''],
        ['b', ''],
        ['c', ''],
      ],
      options: { ...all, maxEntries: 2 },
      message: /more than 2 entries/,
    },
  ])('bounds $name', async ({ entries, options, message }) => {
    const failure = expect.objectContaining({ code: 'FLOTILLA_REGISTRY_TOO_LARGE', message: expect.stringMatching(message) });
    await expect(read([await tarOf(entries)], options)).rejects.toEqual(failure);
  });

  test.each([
    { name: 'gzip', squeeze: (b: Buffer) => gzipSync(b) },
    { name: 'zstd', squeeze: (b: Buffer) => zstdCompressSync(b) },
  ])('a $name bomb is stopped at the bound', async ({ squeeze }) => {
    const bomb = squeeze(await tarOf([['zeros', Buffer.alloc(64 * 2 ** 20)]]));
    expect(bomb.length).toBeLessThan(100_000);
    const before = process.memoryUsage().arrayBuffers;
    await expect(read([bomb], { match: () => false, maxUnpackedBytes: 2 ** 20 })).rejects.toMatchObject({
      code: 'FLOTILLA_REGISTRY_TOO_LARGE',
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 2 ** 20);
  });

  test('links that multiply names are stopped at the bound', async () => {
    const entries: [string, string | Partial<Header>][] = [['d0/f', 'x']];
    for (let level = 1; level <= 20; level++) for (const side of ['a', 'b']) entries.push([`d${level}/${side}`, link(`../d${level - 1}`)]);
    await expect(read([await tarOf(entries)], { match: () => false, maxEntries: 10_000 })).rejects.toThrow(/too many names/);
  });

  test.each([
    { name: 'no tar at all', bytes: Buffer.alloc(2048, 'x') },
    { name: 'a tar cut in the middle', bytes: undefined },
    { name: 'a broken gzip', bytes: Buffer.concat([Buffer.from('1f8b0800', 'hex'), Buffer.alloc(500, 7)]) },
    { name: 'bytes after the gzip’s end', bytes: Buffer.concat([gzipSync(Buffer.alloc(1024)), Buffer.alloc(300_000, 'x')]) },
  ])('refuses $name', async ({ bytes }) => {
    const layer = bytes ?? (await tarOf([['a', Buffer.alloc(5000)]])).subarray(0, 3000);
    await expect(read([layer], all)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_BAD_LAYER', image: `${registry.host}/a:1` });
  });

  test('an extension record that claims to be huge is refused before it is read', async () => {
    const tar = await tarOf([[`${'n'.repeat(200)}/f`, 'x']]);
    tar.write('77777777777', 124, 'latin1');
    let sum = 8 * 32;
    for (let at = 0; at < 512; at++) if (at < 148 || at >= 156) sum += tar[at] ?? 0;
    tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    await expect(read([tar], all)).rejects.toThrow(/extension record of 8589934591 bytes/);
  });
});
