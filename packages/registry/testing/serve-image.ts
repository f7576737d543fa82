import { createServer } from 'node:http';
import { listImageParts } from '../src/image-graph.ts';
import { currentPlatform } from '../src/platform.ts';
import { writeImage } from './image-writer.ts';
import { MemoryBlobs } from './memory-blobs.ts';

/** An image on its own registry; disposing ends the registry. */
export interface ServedImage extends AsyncDisposable {
  /** Address of the registry, which uses plain HTTP. */
  readonly host: string;
  /** Pull spec of the image, by digest. */
  readonly pullSpec: string;
  /** Number of requests so far. */
  readonly requests: number;
}

/** Serves an image of one layer with these files for this machine, by its manifests and blobs alone. */
export async function serveImage(files: Readonly<Record<string, string>>): Promise<ServedImage> {
  const store = new MemoryBlobs();
  const image = await writeImage(store, {
    platform: currentPlatform(),
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
  return {
    host,
    pullSpec: `${host}/releases/release@${image.digest}`,
    get requests() {
      return requests;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
