import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '@flotilla/api';
import { readBounded } from '@flotilla/http';
import { Semaphore } from '@flotilla/pace';
import type { RegistryClient } from './client.ts';
import { digestOf, writeWhole } from './digest-folder.ts';
import { abortedError, isAborted, RegistryError, RegistryErrorCode, tooLargeError } from './errors.ts';
import type { BlobContent, BlobStore } from './image-graph.ts';
import { formatImageReference, type ImageReference, isDigest } from './image-reference.ts';
import { type Descriptor, ImageIndex, MediaType, parseDocument } from './manifest.ts';
import type { Platform } from './platform.ts';
import { resolveImage } from './resolve.ts';

/** Annotation of `index.json` entries with the image's name (OCI image-layout). */
const REF_NAME = 'org.opencontainers.image.ref.name';
/** The same for containerd's importer, which reads full names from it. */
const CONTAINERD_NAME = 'io.containerd.image.name';

const MAX_INDEX_BYTES = 64 * 1024 * 1024;

/**
 * An OCI image layout directory. Files appear whole or not at all, and an interrupted download resumes. Any number of calls in one process may share
 * it; only one process may write at a time.
 */
export class OciLayout implements BlobStore {
  readonly directory: string;
  readonly #inFlight = new Map<string, { readonly done: Promise<'present' | 'fetched'>; readonly signal: AbortSignal | undefined }>();
  #indexWrites: Promise<unknown> = Promise.resolve();

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** Opens a layout: creates missing parts and removes temporary files of a killed process. */
  static async open(directory: string): Promise<OciLayout> {
    const layout = new OciLayout(directory);
    await mkdir(join(directory, 'blobs', 'sha256'), { recursive: true });
    await mkdir(join(directory, 'ingest'), { recursive: true });
    for (const name of await readdir(join(directory, 'ingest'))) {
      if (name.endsWith('.tmp')) await rm(join(directory, 'ingest', name), { force: true });
    }
    if (!(await exists(join(directory, 'oci-layout'))))
      await layout.#write(JSON.stringify({ imageLayoutVersion: '1.0.0' }), () => join(directory, 'oci-layout'));
    if (!(await exists(layout.#indexPath))) await layout.#writeIndex([]);
    return layout;
  }

  /** Opens a layout to read it: nothing is made or removed, so it may be on a medium that cannot be written. */
  static read(directory: string): OciLayout {
    return new OciLayout(directory);
  }

  get #indexPath(): string {
    return join(this.directory, 'index.json');
  }

  blobPath(digest: string): string {
    if (!isDigest(digest)) throw new RegistryError(RegistryErrorCode.badLayout, `"${digest.slice(0, 100)}" is not a sha256 digest`);
    return join(this.directory, 'blobs', 'sha256', digest.slice('sha256:'.length));
  }

  #partialPath(digest: string): string {
    return join(this.directory, 'ingest', `${digest.slice('sha256:'.length)}.partial`);
  }

  async has(digest: string): Promise<boolean> {
    return exists(this.blobPath(digest));
  }

  /** Bytes on disk of an unfinished download. */
  async partialSize(digest: string): Promise<number> {
    return (await stat(this.#partialPath(digest)).catch(() => undefined))?.size ?? 0;
  }

  openBlob(digest: string): AsyncIterable<Buffer> {
    return createReadStream(this.blobPath(digest), { highWaterMark: 256 * 1024 });
  }

  async readBlob(digest: string, maxBytes: number): Promise<Buffer> {
    const bytes = await readBounded(this.openBlob(digest), maxBytes, { tooLarge: () => tooLargeError(`blob ${digest}`, maxBytes) });
    if (digestOf(bytes) === digest) return bytes;
    // Bit rot or an incomplete write: without the file the next reader fetches it again.
    await rm(this.blobPath(digest), { force: true });
    throw new RegistryError(RegistryErrorCode.digestMismatch, `blob ${digest} in ${this.directory} was damaged and is removed; run again`);
  }

  async putBlob(content: BlobContent): Promise<{ digest: string; size: number }> {
    const hash = createHash('sha256');
    let [digest, size] = ['', 0];
    const hashed = async function* () {
      for await (const chunk of Buffer.isBuffer(content) ? [content] : content) {
        hash.update(chunk);
        size += chunk.length;
        yield chunk;
      }
    };
    await this.#write(hashed(), () => {
      digest = `sha256:${hash.digest('hex')}`;
      return this.blobPath(digest);
    });
    return { digest, size };
  }

  /**
   * Ensures that a blob is in the layout. Calls for the same digest share one download; a partial file is hashed again and resumed with `Range`.
   * Content with a wrong digest is removed and fetched once more from the start.
   * @throws RegistryError of the client, or `FLOTILLA_REGISTRY_STORE_FAILED` when the disk refuses.
   */
  async fetchBlob(
    client: RegistryClient,
    reference: ImageReference,
    descriptor: Descriptor,
    options: { signal?: AbortSignal } = {},
  ): Promise<'present' | 'fetched'> {
    for (;;) {
      if (await this.has(descriptor.digest)) return 'present';
      if (options.signal?.aborted) throw abortedError(options.signal);
      const shared = this.#inFlight.get(descriptor.digest);
      if (!shared) {
        const done = this.#fetchTwice(client, { reference, descriptor, ...options });
        this.#inFlight.set(descriptor.digest, { done, signal: options.signal });
        return await done.finally(() => this.#inFlight.delete(descriptor.digest));
      }
      try {
        await shared.done;
        return 'present';
      } catch (error) {
        // An abort of the downloading caller does not concern this one; its reason may be the failure of another layer.
        if (!isAborted(error) && shared.signal?.aborted !== true) throw error;
      }
    }
  }

  async #fetchTwice(client: RegistryClient, job: BlobJob): Promise<'fetched'> {
    try {
      return await this.#fetchOnce(client, job);
    } catch (error) {
      if (!(error instanceof RegistryError) || error.code !== RegistryErrorCode.digestMismatch) throw error;
      return await this.#fetchOnce(client, job);
    }
  }

  async #fetchOnce(client: RegistryClient, { reference, descriptor, signal }: BlobJob): Promise<'fetched'> {
    const path = this.#partialPath(descriptor.digest);
    const { hash, offset } = await this.#rehash(path, descriptor.size);
    try {
      await using file = await openForAppend(path);
      for await (const chunk of client.streamBlob(reference, descriptor, { offset, hash, signal })) await writeAll(file, chunk);
      await file.datasync();
      await rename(path, this.blobPath(descriptor.digest));
      return 'fetched';
    } catch (error) {
      if (error instanceof RegistryError) {
        const { digestMismatch, tooLarge } = RegistryErrorCode;
        if (error.code === digestMismatch || error.code === tooLarge) await rm(path, { force: true });
        throw error;
      }
      throw new RegistryError(
        RegistryErrorCode.storeFailed,
        `writing blob ${descriptor.digest} to ${this.directory}: ${errorMessage(error)}`,
        { cause: error },
      );
    }
  }

  /** Hashes the bytes read back from the disk; no other bytes are trusted. */
  async #rehash(path: string, size: number) {
    const found = await stat(path).catch(() => undefined);
    const hash = createHash('sha256');
    if (!found || found.size > size) {
      await rm(path, { force: true });
      return { hash, offset: 0 };
    }
    let offset = 0;
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      hash.update(chunk);
      offset += chunk.length;
    }
    return { hash, offset };
  }

  async images(): Promise<Descriptor[]> {
    return parseDocument('index.json', await readFile(this.#indexPath), ImageIndex).manifests;
  }

  /** Finds the entry with this full name, or with this digest. */
  async findImage(nameOrDigest: string): Promise<Descriptor | undefined> {
    return (await this.images()).find((entry) => entry.digest === nameOrDigest || entry.annotations?.[REF_NAME] === nameOrDigest);
  }

  /** Names an image whose blobs exist; an existing name moves to the new image. */
  async addImage(descriptor: Descriptor, name: string): Promise<void> {
    const annotations = { ...descriptor.annotations, [REF_NAME]: name, [CONTAINERD_NAME]: name };
    await this.#changeIndex((entries) => {
      const same = entries.some((entry) => entry.digest === descriptor.digest && entry.annotations?.[REF_NAME] === name);
      if (same) return undefined;
      const next = [...entries.filter((entry) => entry.annotations?.[REF_NAME] !== name), { ...descriptor, annotations }];
      // Sorted by name, so that the file does not depend on the order of completion.
      return next.sort((a, b) => ((a.annotations?.[REF_NAME] ?? '') < (b.annotations?.[REF_NAME] ?? '') ? -1 : 1));
    });
  }

  /** Changes the index with one writer at a time: read, change and rename together are not atomic. */
  async #changeIndex(change: (entries: Descriptor[]) => Descriptor[] | undefined): Promise<void> {
    const turn = this.#indexWrites.then(async () => {
      const next = change(await this.images());
      if (next) await this.#writeIndex(next);
    });
    this.#indexWrites = turn.catch(() => {});
    await turn;
  }

  async #writeIndex(manifests: Descriptor[]): Promise<void> {
    const text = JSON.stringify({ schemaVersion: 2, mediaType: MediaType.ociIndex, manifests });
    if (text.length > MAX_INDEX_BYTES)
      throw new RegistryError(RegistryErrorCode.tooLarge, `index.json of ${this.directory} grows past 64 MiB`);
    await this.#write(text, () => this.#indexPath);
  }

  #write(content: string | AsyncIterable<Buffer>, pathOf: () => string): Promise<void> {
    return writeWhole(join(this.directory, 'ingest', `${randomUUID()}.tmp`), async (temporary) => {
      await writeFile(temporary, content, { flag: 'wx', flush: true });
      return pathOf();
    });
  }
}

interface BlobJob {
  reference: ImageReference;
  descriptor: Descriptor;
  signal?: AbortSignal;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

const openForAppend = (path: string) => open(path, 'a');

/** Writes the whole chunk, because `write` may write less. */
async function writeAll(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten;
}

interface DownloadOptions {
  client: RegistryClient;
  layout: OciLayout;
  /** Blobs at once; default 4. */
  parallelBlobs?: number;
  /** Default: linux on this processor. */
  platform?: Platform;
  signal?: AbortSignal;
}

/**
 * Downloads an image into the layout and names it there. Existing content is skipped, so an interrupted download continues.
 * @throws RegistryError of the client, or `FLOTILLA_REGISTRY_STORE_FAILED` when the disk refuses
 */
export async function downloadImage(reference: ImageReference, options: DownloadOptions): Promise<'present' | 'downloaded'> {
  const { client, layout, platform, signal } = options;
  const name = formatImageReference(reference);
  try {
    if (signal?.aborted) throw abortedError(signal);
    const { top, layers } = await resolveImage(client, reference, { platform, signal, store: layout });
    // A failing layer fails its image, but only after the other layers have stopped: nothing runs on unattended.
    const stop = new AbortController();
    const both = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const blobs = new Semaphore(options.parallelBlobs ?? 4);
    const outcomes = await Promise.allSettled(
      layers.map((layer) =>
        blobs.run(() =>
          layout.fetchBlob(client, reference, layer, { signal: both }).catch((error: unknown) => {
            stop.abort(error);
            throw error;
          }),
        ),
      ),
    );
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure) throw stop.signal.aborted && !signal?.aborted ? stop.signal.reason : failure.reason;
    const known = await layout.findImage(name);
    await layout.addImage(top, name);
    const isNew = known?.digest !== top.digest || outcomes.some((one) => one.status === 'fulfilled' && one.value === 'fetched');
    return isNew ? 'downloaded' : 'present';
  } catch (cause) {
    if (cause instanceof RegistryError) throw cause;
    throw new RegistryError(RegistryErrorCode.storeFailed, `storing ${name} failed`, { cause });
  }
}
