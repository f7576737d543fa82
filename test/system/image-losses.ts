import { createHash } from 'node:crypto';
import { truncate } from 'node:fs/promises';
import { z } from 'zod';

/** A node whose store loses parts of images. */
interface LosingNode {
  readonly ctr: (...args: string[]) => Promise<string>;
  readonly snapshotter: string;
  /** Path of a blob in the content store. */
  readonly blobPath: (digest: string) => string;
}

const Manifest = z.object({ config: z.object({ digest: z.string() }), layers: z.array(z.object({ digest: z.string() })) });
const ImageConfig = z.object({ rootfs: z.object({ diff_ids: z.array(z.string()) }) });

/** Documents, own layer and snapshot of an image. */
async function partsOf(node: LosingNode, pullSpec: string) {
  const manifest = pullSpec.slice(pullSpec.indexOf('@') + 1);
  const { config, layers } = Manifest.parse(JSON.parse(await node.ctr('content', 'get', manifest)));
  const { rootfs } = ImageConfig.parse(JSON.parse(await node.ctr('content', 'get', config.digest)));
  const snapshot = rootfs.diff_ids.reduce((below, diffId) =>
    below === '' ? diffId : `sha256:${createHash('sha256').update(`${below} ${diffId}`).digest('hex')}`,
  );
  return { manifest, config: config.digest, layer: layers.at(-1)?.digest ?? '', snapshot };
}

/** A snapshot may be missing already: an image whose blobs alone are whole is unpacked when it starts. */
async function removeSnapshot({ ctr, snapshotter }: LosingNode, snapshot: string): Promise<void> {
  await ctr('snapshots', '--snapshotter', snapshotter, 'rm', snapshot).catch((error: unknown) => {
    if (!String(error).includes('does not exist')) throw error;
  });
}

/** Ways of losing an image. Each leaves something that a look at the names alone takes for the whole. */
export const losses: Readonly<Record<string, (node: LosingNode, pullSpec: string) => Promise<unknown>>> = {
  'its name': (node, pullSpec) => node.ctr('images', 'rm', '--sync', pullSpec),
  'its manifest, cut to half': async (node, pullSpec) => truncate(node.blobPath((await partsOf(node, pullSpec)).manifest), 100),
  'its configuration': async (node, pullSpec) => node.ctr('content', 'rm', (await partsOf(node, pullSpec)).config),
  'its snapshot and its layer': async (node, pullSpec) => {
    const { snapshot, layer } = await partsOf(node, pullSpec);
    await removeSnapshot(node, snapshot);
    await node.ctr('content', 'rm', layer);
  },
  'its snapshot, and half of its layer': async (node, pullSpec) => {
    const { snapshot, layer } = await partsOf(node, pullSpec);
    await removeSnapshot(node, snapshot);
    await truncate(node.blobPath(layer), 1_000);
  },
};
