/**
 * Reads an index image with one catalogue file of as many MiB as the first argument says, `json` or `yaml` by the second, and prints the most memory
 * that the process took, in MiB: a program of its own, because memory is that of a process.
 */
import { readFileSync } from 'node:fs';
import { readLayerFiles } from '@flotilla/registry';
import type { ImageSource } from '../src/image-source.ts';
import { listOperatorHeads } from '../src/operator-images.ts';

const [mib = '200', form = 'json'] = process.argv.slice(2);
const BLOCK = 512;
const digest = `sha256:${'a'.repeat(64)}`;

/** One object of the catalogue, some KiB with a sign beyond Latin, as real ones have. */
const write = (object: object): string => (form === 'json' ? `${JSON.stringify(object, null, 2)}\n` : `---\n${JSON.stringify(object)}\n`);
const filler = Array.from({ length: 60 }, (_, i) => ({
  type: 'olm.csv.metadata',
  value: { description: `operator — number ${i}`.repeat(4) },
}));
const bundle = (of: string, name: string): object => ({
  ...{ schema: 'olm.bundle', package: of, name },
  ...{ relatedImages: [{ name: '', image: `host.test/${name}:1` }], properties: filler },
});

function* catalogue(bytes: number): Generator<Buffer> {
  const head = [
    { schema: 'olm.package', name: 'ptp' },
    { schema: 'olm.channel', package: 'ptp', name: 'stable', entries: [{ name: 'ptp.v1' }] },
    bundle('ptp', 'ptp.v1'),
  ];
  let left = bytes;
  for (const object of head) {
    const text = Buffer.from(write(object));
    left -= text.length;
    yield text;
  }
  for (let i = 0; left > 0; i++) {
    const text = Buffer.from(write(bundle('other', `other.v${i}`)));
    const piece = text.length <= left ? text : Buffer.alloc(left, '\n');
    left -= piece.length;
    yield piece;
  }
}

function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write('0000644\0', 100);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

async function* layer(): AsyncGenerator<Buffer> {
  const size = Number(mib) * 1024 * 1024;
  yield header('configs/ptp/catalog.json', size);
  yield* catalogue(size);
  yield Buffer.alloc(2 * BLOCK + ((BLOCK - (size % BLOCK)) % BLOCK));
}

const reference = { host: 'host.test', repository: 'index', tag: 'v1' };
const layers = [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', digest, size: 1 }];
const source: ImageSource = {
  bytesRead: 0,
  resolve: async (pullSpec) => ({ pullSpec, digest, referenceDigest: digest, layers: [], labels: {} }),
  readFiles: (_image, selection, signal) => readLayerFiles({ streamBlob: layer }, { reference, layers }, { ...selection, signal }),
};
const wanted = { indexes: ['host.test/index:v1'], packages: [{ package: 'ptp', channel: 'stable' }] };
const heads = await listOperatorHeads(source, wanted, new AbortController().signal);
const [, most = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
process.stdout.write(`${JSON.stringify({ head: heads[0]?.bundle, mostMiB: Math.ceil(Number(most) / 1024) })}\n`);
