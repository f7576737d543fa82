/** Images that a node has and images that it is to get, by a seed. */
import { createHash } from 'node:crypto';
import { currentPlatform, parseImageReference, pushImage, RegistryClient } from '@flotilla/registry';
import { MemoryBlobs, type WrittenLayer, writeImage, writeLayer } from '@flotilla/registry/testing';
import { hostOf, REGISTRY_NAME } from '../image-puller-fixture.ts';

/** Shapes in which wanted images stand to those that are there. */
const KINDS = ['shared beginning', 'shared end', 'turned round', 'the same', 'another name', 'new'] as const;

/** A node's part of one trial. */
export interface NodeImages {
  /** Pull specs that the node has before. */
  readonly present: readonly string[];
  /** Pull specs that it is to get. */
  readonly wanted: readonly string[];
  /** One of the wanted that is begun and broken off before; undefined in most trials. */
  readonly begun: string | undefined;
  /** Every layer's digest. */
  readonly layers: ReadonlySet<string>;
  readonly says: string;
}

/** Bytes that a repetition of the same seed gives again, and that no compression makes smaller. */
function noise(seed: string, size: number): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at * 32 < size; at += 1) blocks.push(createHash('sha256').update(`${seed} ${at}`).digest());
  return Buffer.concat(blocks).subarray(0, size);
}

/** Pushes the images of a trial. */
export async function pushNodeImages(registryUrl: string, trial: string, random: () => number): Promise<NodeImages> {
  const host = hostOf(registryUrl);
  await using client = new RegistryClient({ insecureHosts: [host] });
  const store = new MemoryBlobs();
  const layers = new Set<string>();
  const below = (count: number): number => Math.floor(random() * count);
  const layer = async (name: string, size = 20_000 + below(200_000)): Promise<WrittenLayer> => {
    const content = { files: [{ path: `${trial}/${name}`, content: { bytes: noise(`${trial} ${name}`, size) } }] };
    const written = await writeLayer(store, { content, compression: 'gzip', level: 1 });
    layers.add(written.descriptor.digest);
    return written;
  };
  const several = (name: string, count: number) => Promise.all(Array.from({ length: count }, (_, at) => layer(`${name}-${at}`)));
  const push = async (name: string, of: readonly WrittenLayer[]): Promise<string> => {
    const image = await writeImage(store, {
      layers: of,
      platform: currentPlatform(),
      config: { Labels: { of: name.replace(/-alias$/, '') } },
    });
    await pushImage({ client, store, image, reference: parseImageReference(`${host}/${trial}/${name}:v1`) });
    return `${REGISTRY_NAME}/${trial}/${name}@${image.digest}`;
  };

  const old = await Promise.all([0, 1, 2].slice(0, 1 + below(3)).map((at) => several(`old-${at}`, 2 + below(3))));
  const present = await Promise.all(old.map((of, at) => push(`old-${at}`, of)));
  const others = Array.from({ length: 1 + below(3) }, () => KINDS[below(KINDS.length)] ?? 'new');
  const kinds = [KINDS[0], ...others];
  const wanted: string[] = [];
  for (const [at, kind] of kinds.entries()) {
    const index = below(old.length);
    const from = old[index] ?? [];
    const cut = 1 + below(Math.max(from.length - 1, 1));
    const fresh = await several(`new-${at}`, 1 + below(2));
    if (kind === 'the same') wanted.push(present[index] ?? '');
    else if (kind === 'another name') wanted.push(await push(`old-${index}-alias`, from));
    else if (kind === 'shared beginning') wanted.push(await push(`new-${at}`, [...from.slice(0, cut), ...fresh]));
    else if (kind === 'shared end') wanted.push(await push(`new-${at}`, [...fresh, ...from.slice(-cut)]));
    else if (kind === 'turned round') wanted.push(await push(`new-${at}`, from.toReversed()));
    else wanted.push(await push(`new-${at}`, fresh));
  }
  const isBegun = random() < 0.3;
  const begun = isBegun ? await push('begun', [await layer('large', 3_000_000)]) : undefined;
  if (begun !== undefined) wanted.push(begun);
  return { present, wanted: [...new Set(wanted)], begun, layers, says: [...kinds, ...(isBegun ? ['begun'] : [])].join(', ') };
}
