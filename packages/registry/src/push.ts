import { Readable } from 'node:stream';
import { mapConcurrently } from '@flotilla/pace';
import type { RegistryClient } from './client.ts';
import { isTransient, RegistryError, RegistryErrorCode } from './errors.ts';
import { type BlobStore, listImageParts } from './image-graph.ts';
import { formatImageReference, type ImageReference } from './image-reference.ts';
import { type Descriptor, MAX_MANIFEST_BYTES } from './manifest.ts';

interface PushOptions {
  client: RegistryClient;
  /** Store with the image's blobs: an OciLayout or MemoryBlobs. */
  store: BlobStore;
  /** Manifest or index, as writeImage, writeIndex or OciLayout.findImage return it. */
  image: Descriptor;
  /** Target; the push sets its tag, or only the digest without a tag. */
  reference: ImageReference;
  /** Repositories of the same registry that may hold blobs already. */
  mountFrom?: readonly string[];
}

interface PushResult {
  digest: string;
  uploaded: number;
  mounted: number;
  bytes: number;
}

const PARALLEL_BLOBS = 4;
const UPLOAD_ATTEMPTS = 3;
/** Time-out of upload steps, in milliseconds. */
const STEP_MS = 60_000;

/** Pushes an image: missing blobs, then manifests, children first, so that a name never points to a partial image. */
export async function pushImage(options: PushOptions): Promise<PushResult> {
  const { store, image, reference } = options;
  const { manifests, blobs } = await listImageParts(store, image);
  const outcomes = await mapConcurrently(blobs, PARALLEL_BLOBS, (blob) => pushBlob(blob, options));
  for (const manifest of manifests) {
    const target = manifest.digest === image.digest ? (reference.tag ?? manifest.digest) : manifest.digest;
    await putManifest(manifest, target, options);
  }
  return {
    digest: image.digest,
    uploaded: outcomes.filter((o) => o === 'uploaded').length,
    mounted: outcomes.filter((o) => o === 'mounted').length,
    bytes: blobs.reduce((sum, blob, index) => sum + (outcomes[index] === 'uploaded' ? blob.size : 0), 0),
  };
}

/** Puts a manifest under a tag or its digest; the blobs and manifests that it names must be there. */
export async function putManifest(manifest: Descriptor, target: string, { client, store, reference }: PushOptions): Promise<void> {
  const bytes = await store.readBlob(manifest.digest, MAX_MANIFEST_BYTES);
  const headers = { 'content-type': manifest.mediaType };
  const put = {
    method: 'PUT',
    path: `manifests/${target}`,
    headers,
    body: () => bytes,
    actions: 'pull,push',
    deadlineMs: STEP_MS,
  } as const;
  await client.callSource(reference, put, async (answer) => void answer.body.resume());
}

type BlobOutcome = 'present' | 'mounted' | 'uploaded';

async function pushBlob(blob: Descriptor, options: PushOptions): Promise<BlobOutcome> {
  for (let tries = 1; ; tries++) {
    try {
      if (await hasBlob(blob, options)) return 'present';
      return await upload(blob, options);
    } catch (error) {
      // An upload's session does not survive a failure, so the next try checks again whether the blob exists.
      const isSpent = error instanceof RegistryError && error.code === RegistryErrorCode.notFound;
      if (tries >= UPLOAD_ATTEMPTS || !(isTransient(error) || isSpent)) throw error;
    }
  }
}

async function hasBlob(blob: Descriptor, { client, reference }: PushOptions): Promise<boolean> {
  const call = { method: 'HEAD', path: `blobs/${blob.digest}`, actions: 'pull,push', deadlineMs: STEP_MS } as const;
  try {
    await client.callSource(reference, call, async (answer) => void answer.body.resume());
    return true;
  } catch (error) {
    if (error instanceof RegistryError && error.code === RegistryErrorCode.notFound) return false;
    throw error;
  }
}

async function upload(blob: Descriptor, { client, store, reference, mountFrom = [] }: PushOptions): Promise<BlobOutcome> {
  const base = { actions: 'pull,push' } as const;
  let location: URL | undefined;
  // A failed mount starts an upload instead, which saves a request.
  const mounts = mountFrom.map((from) => `?mount=${blob.digest}&from=${encodeURIComponent(from)}`);
  for (const query of mounts.length > 0 ? mounts : ['']) {
    const call = {
      ...base,
      method: 'POST',
      path: `blobs/uploads/${query}`,
      headers: { 'content-length': '0' },
      deadlineMs: STEP_MS,
    } as const;
    const started = await client.callSource(reference, call, async (answer, { host }) => {
      answer.body.resume();
      return answer.status === 201 ? 'mounted' : uploadLocation(answer.headers.location, { base: answer.url, host, reference });
    });
    if (started === 'mounted') return 'mounted';
    location = started;
  }
  location?.searchParams.set('digest', blob.digest);
  const put = {
    ...base,
    method: 'PUT',
    path: String(location),
    headers: { 'content-type': 'application/octet-stream', 'content-length': String(blob.size) },
    body: () => Readable.from(store.openBlob(blob.digest), { objectMode: false }),
    attempts: 1,
  } as const;
  await client.callSource(reference, put, async (answer) => void answer.body.resume());
  return 'uploaded';
}

/** Checks that the upload stays on its server, because our credentials go with it. */
function uploadLocation(
  location: string | undefined,
  { base, host, reference }: { base: URL; host: string; reference: ImageReference },
): URL {
  const url = URL.parse(location ?? '', base.href);
  if (location !== undefined && url?.host === base.host && url.protocol === base.protocol) return url;
  const image = formatImageReference(reference);
  throw new RegistryError(
    RegistryErrorCode.badResponse,
    `${image}: ${host} wants the upload sent elsewhere ("${location?.slice(0, 200)}")`,
    { image, host },
  );
}
