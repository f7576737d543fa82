import { createHash } from 'node:crypto';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson } from '@flotilla/api';
import type { PullSpec, WantedImage } from '@flotilla/software';
import { z } from 'zod';
import { listFolder, readSmallFile } from '../small-file.ts';

/** Setting of the folder, for messages. */
const SETTING = 'RECORD_DIR';
/** Records that a node keeps, of the specs that were pulled last. */
const MOST_RECORDS = 5;

const Digest = z.string().max(150);
/** The images that a pre-cache put on a node. Layers are places in the list of all, because images share them. */
const CachedRecord = z.object({
  version: z.literal(1),
  /** Time of the pull, RFC 3339. */
  at: z.string().max(40),
  layers: z.array(Digest).max(50_000),
  images: z
    .array(
      z.object({
        digest: Digest,
        names: z.array(z.object({ pullSpec: z.string().max(1_024), referenceDigest: Digest })).max(100),
        layers: z.array(z.int().min(0)).max(1_000),
      }),
    )
    .max(20_000),
});

/** An image that was cached. */
export type CachedImage = Pick<WantedImage, 'digest' | 'pullSpecs'> & { readonly layers: readonly string[] };

/** Records of what was cached, in a folder of the node that outlives pods. The node's own, so a node that lost its disk has none. */
export class CachedRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Replaces the record of this spec. */
  async write(spec: PullSpec, images: readonly WantedImage[], now: number): Promise<void> {
    const layers = [...new Set(images.flatMap((image) => image.layers.map(({ digest }) => digest)))];
    const places = new Map(layers.map((digest, place) => [digest, place]));
    const record: z.input<typeof CachedRecord> = {
      version: 1,
      at: new Date(now).toISOString(),
      layers,
      images: images.map((image) => ({
        digest: image.digest,
        names: image.pullSpecs.map(({ pullSpec, referenceDigest }) => ({ pullSpec, referenceDigest })),
        layers: image.layers.flatMap(({ digest }) => places.get(digest) ?? []),
      })),
    };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(spec);
    // A node that loses its power finds the old record or the new one.
    await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600, flush: true });
    await rename(`${path}.new`, path);
    await this.#prune();
  }

  /** Reads the record of this spec; undefined without one, or with one that cannot be used. */
  async read(spec: PullSpec): Promise<CachedImage[] | undefined> {
    const text = await readSmallFile(this.#pathOf(spec), SETTING);
    // Half a record is none.
    const parsed = CachedRecord.safeParse(readJson(text ?? ''));
    if (!parsed.success) return undefined;
    const { layers, images } = parsed.data;
    return images.map((image) => ({
      digest: image.digest,
      pullSpecs: image.names,
      layers: image.layers.flatMap((place) => layers[place] ?? []),
    }));
  }

  #pathOf(spec: PullSpec): string {
    return join(this.#folder, `${createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, 32)}.json`);
  }

  async #prune(): Promise<void> {
    const names = (await listFolder(this.#folder, SETTING)).filter((name) => /^[0-9a-f]{32}\.json$/.test(name));
    const dated = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(this.#folder, name))).mtimeMs })));
    const old = dated.toSorted((a, b) => b.at - a.at).slice(MOST_RECORDS);
    for (const { name } of old) await rm(join(this.#folder, name), { force: true });
  }
}
