import type { RegistryClient } from '../src/client.ts';
import { parseImageReference } from '../src/image-reference.ts';
import { currentPlatform } from '../src/platform.ts';
import { pushImage } from '../src/push.ts';
import { writeImage } from './image-writer.ts';
import { MemoryBlobs } from './memory-blobs.ts';

/** Pushes an image of one layer with some files for this machine, or with the tar that is given. Returns its digest. */
export async function pushFiles(
  client: RegistryClient,
  reference: string,
  files: Readonly<Record<string, string>>,
  { tar, labels }: { readonly tar?: AsyncIterable<Buffer> | undefined; readonly labels?: { [label: string]: string } } = {},
): Promise<string> {
  const store = new MemoryBlobs();
  const content = tar ? { tar } : { files: Object.entries(files).map(([path, bytes]) => ({ path, content: { bytes } })) };
  const image = await writeImage(store, {
    platform: currentPlatform(),
    layers: [{ content, compression: 'gzip' }],
    ...(labels && { config: { Labels: labels } }),
  });
  await pushImage({ client, store, image, reference: parseImageReference(reference) });
  return image.digest;
}
