import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { parseDockerConfig } from './credentials.ts';
import { parseImageReference } from './image-reference.ts';
import { readLayerFiles } from './layer-files.ts';
import { MediaType } from './manifest.ts';

const BLOCK = 512;

/** Builds a valid tar header, except for the case's oddity. */
function header(random: RandomValues, name: string, size: number, flag: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name.slice(0, 100), 0, 'utf8');
  block.write('0000644\0', 100, 'latin1');
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  block.write(flag, 156, 'latin1');
  if (flag === '1' || flag === '2')
    block.write(random.pick(['a', '../a', '/b/c', '../../..', '.', 'l', nameOf(random)]).slice(0, 100), 157, 'utf8');
  if (random.chance(0.7)) block.write('ustar\x0000', 257, 'latin1');
  if (random.chance(0.03)) block.fill(0x80 + random.below(128), 124, 136);
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  if (!random.chance(0.01)) block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

const nameOf = (random: RandomValues): string =>
  random.chance(0.1)
    ? random.text(100)
    : Array.from({ length: 1 + random.below(random.chance(0.05) ? 48 : 4) }, () =>
        random.pick(['a', 'b', 'c', 'l', '.wh.a', '.wh..wh..opq', '..', '.', '']),
      ).join('/');

function pad(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}

function entry(random: RandomValues): Buffer {
  const content = random.bytes(random.chance(0.1) ? 1_200 : 60);
  const flag = random.pick(['0', '0', '0', '\0', '1', '2', '2', '5', '3', '7', 'x', 'g', 'L', 'K', 'S', random.text(1)]);
  const body =
    flag === 'x'
      ? Buffer.from(random.chance(0.7) ? pax(random) : content)
      : flag === 'L' || flag === 'K'
        ? Buffer.from(nameOf(random))
        : content;
  const size = random.chance(0.02) ? random.below(2 ** 33) : body.length;
  return Buffer.concat([header(random, nameOf(random), size, flag), pad(body)]);
}

function pax(random: RandomValues): string {
  const record = ` ${random.pick(['path', 'linkpath', 'size', 'mtime', random.text(8)])}=${random.chance(0.5) ? nameOf(random) : random.text(20)}\n`;
  const length = Buffer.byteLength(record);
  return `${length + String(length + String(length).length).length}${record}`;
}

function layer(random: RandomValues): Buffer {
  const tar = Buffer.concat([...random.list(24, () => entry(random)), Buffer.alloc(random.chance(0.8) ? 2 * BLOCK : 0)]);
  const odd = random.chance(0.3) ? random.mutateBytes(tar) : tar;
  const cut = random.below(odd.length + 1);
  const squeezed = random.pick([
    () => odd,
    () => gzipSync(odd),
    () => Buffer.concat([gzipSync(odd.subarray(0, cut)), gzipSync(odd.subarray(cut))]),
    () => zstdCompressSync(odd),
    () =>
      Buffer.concat([
        zstdCompressSync(odd.subarray(0, cut)),
        Buffer.from('502a4d1803000000616263', 'hex'),
        zstdCompressSync(odd.subarray(cut)),
      ]),
    () => gzipSync(Buffer.alloc(random.below(random.chance(0.05) ? 6_000_000 : 60_000))),
    () => zstdCompressSync(Buffer.alloc(random.below(random.chance(0.05) ? 6_000_000 : 60_000))),
  ])();
  return random.chance(0.3) ? random.mutateBytes(squeezed) : squeezed;
}

/** Reads layers as if a registry had sent them in pieces. */
async function readLayers(layers: readonly Buffer[], options: Parameters<typeof readLayerFiles>[2]): Promise<void> {
  const descriptors = layers.map((bytes) => ({
    mediaType: MediaType.ociLayer,
    digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    size: bytes.length,
  }));
  const reference = parseImageReference('registry.example/a:1');
  const source = {
    async *streamBlob(_: unknown, { digest }: { digest: string }): AsyncGenerator<Buffer> {
      const bytes = layers[descriptors.findIndex((descriptor) => descriptor.digest === digest)] ?? Buffer.alloc(0);
      for (let at = 0; at < bytes.length; at += 16_384) yield bytes.subarray(at, at + 16_384);
    },
  };
  await readLayerFiles(source, { reference, layers: descriptors }, options);
}

const targets = [
  defineTarget('layers of an image, every file', {
    make: (random) => random.list(3, () => layer(random)),
    run: (layers) => readLayers(layers, { match: () => true, maxUnpackedBytes: 2 ** 22 }),
  }),
  defineTarget('layers of an image, one file', {
    make: (random) => random.list(3, () => layer(random)),
    run: (layers) => readLayers(layers, { paths: ['a/b'], maxEntries: 1_000 }),
  }),
  defineTarget('image references', {
    make: (random) => (random.chance(0.5) ? random.text(80) : random.mutateText(`host.example:5000/team/app:1.0@sha256:${'a'.repeat(64)}`)),
    run: (text) => parseImageReference(text),
  }),
  defineTarget('pull secrets', {
    make: (random) => {
      const secret = random.mutate({
        auths: { 'host.example': { auth: Buffer.from('a:b').toString('base64') }, 'host:5000/x': { username: 'a', password: 'b' } },
      });
      return random.chance(0.2) ? random.text(200) : JSON.stringify(secret);
    },
    run: (text) => parseDockerConfig(text),
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
