/** A containerd in memory: the services that the puller asks, over a real socket, and pulls that ask a registry as containerd's own do. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { z } from 'zod';
import { Containerd, WriteAction } from '../src/socket/containerd-protocol.ts';
import { Protocol } from '../src/socket/protocol.ts';

/** The stand-in, with what it has. */
interface MemoryContainerd extends AsyncDisposable {
  readonly socket: string;
  /** Bytes by digest. */
  readonly blobs: Map<string, Buffer>;
  /** Bytes of blobs that arrive, by the name of their ingest. */
  readonly ingests: Map<string, Buffer>;
  /** Digests of the blobs that were read. */
  readonly reads: string[];
  /** Pull specs that the runtime was asked to pull. */
  readonly pulls: string[];
}

/** Options of the stand-in. */
interface MemoryContainerdOptions {
  /** Words in which every pull fails; absent: it asks the registry over plain HTTP. */
  readonly pullFails?: string;
  /** Is told of each pull that the runtime is asked for. */
  readonly onPull?: () => void;
}

type Call<T> = ServerUnaryCall<T, object>;
type WriteStream = ServerDuplexStream<WriteMessage, object>;
interface WriteMessage {
  readonly action: number;
  readonly ref: string;
  readonly total: number;
  readonly expected: string;
  readonly offset: number;
  readonly data: Uint8Array;
}

const Manifest = z.object({
  config: z.object({ digest: z.string(), size: z.number() }),
  layers: z.array(z.object({ digest: z.string(), size: z.number() })),
});
const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

class Refusal extends Error {
  readonly code: status;
  readonly details: string;
  constructor(code: status, details: string) {
    super(details);
    this.code = code;
    this.details = details;
  }
}

/** Answers a call by a function that may throw. */
const unary =
  <T>(work: (request: T) => object | Promise<object>) =>
  (call: Call<T>, answer: sendUnaryData<object>): void => {
    const working = (async () => work(call.request))();
    working.then(
      (found) => answer(null, found),
      (error: unknown) => answer(error instanceof Refusal ? error : new Refusal(status.UNKNOWN, String(error))),
    );
  };

/** Starts the stand-in on a socket of its own. */
export async function startMemoryContainerd({ pullFails, onPull }: MemoryContainerdOptions = {}): Promise<MemoryContainerd> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-containerd-'));
  const socket = join(folder, 'containerd.sock');
  const store = new MemoryContent();
  const images = new Map<string, string>();
  const pulls: string[] = [];
  const pullImage = async ({ image: { image } }: { image: { image: string } }): Promise<object> => {
    pulls.push(image);
    onPull?.();
    if (pullFails !== undefined) throw new Refusal(status.UNKNOWN, pullFails);
    images.set(image, await pullAsContainerd(store, image));
    return { imageRef: image };
  };
  const imageStatus = ({ image: { image } }: { image: { image: string } }): object => {
    const digest = images.get(image);
    return digest === undefined ? {} : { image: { id: digest, repoDigests: [`${image.split(/[@:][^/]*$/)[0]}@${digest}`] }, info: {} };
  };
  const { contentInfo, contentStatuses, contentDelete, contentAbort, contentRead, contentWrite, ...others } = Containerd;
  const { createLease, deleteLease, listLeases, statSnapshot } = others;
  const { version, imageFsInfo, pullImage: pull, imageStatus: imageState } = Protocol;
  const calls = { version, imageFsInfo, pull, imageState, contentInfo, contentStatuses, contentDelete, contentAbort, contentRead };
  const server = new Server();
  server.addService(
    { ...calls, contentWrite, createLease, deleteLease, listLeases, statSnapshot },
    {
      version: unary(() => ({ version: '0.1.0', runtimeName: 'containerd', runtimeVersion: 'v2.1', runtimeApiVersion: 'v1' })),
      imageFsInfo: unary(() => ({ imageFilesystems: [{ fsId: { mountpoint: '/io.containerd.snapshotter.v1.overlayfs' } }] })),
      pull: unary(pullImage),
      imageState: unary(imageStatus),
      ...store.calls,
      createLease: unary(() => ({})),
      deleteLease: unary(() => ({})),
      listLeases: unary(() => ({ leases: [] })),
      statSnapshot: unary(() => {
        throw new Refusal(status.NOT_FOUND, 'snapshot not found');
      }),
    },
  );
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve())),
  );
  return {
    socket,
    blobs: store.blobs,
    ingests: store.ingests,
    reads: store.reads,
    pulls,
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The content store. */
class MemoryContent {
  readonly blobs = new Map<string, Buffer>();
  readonly ingests = new Map<string, Buffer>();
  readonly reads: string[] = [];
  readonly #locked = new Set<string>();

  readonly calls = {
    contentInfo: unary(({ digest }: { digest: string }) => ({ info: { digest, size: this.#find(digest).length } })),
    contentStatuses: unary(() => ({ statuses: [...this.ingests].map(([ref, { length }]) => ({ ref, offset: length })) })),
    contentDelete: unary(({ digest }: { digest: string }) => {
      this.blobs.delete(digest);
      return {};
    }),
    contentAbort: unary(({ ref }: { ref: string }) => {
      if (!this.ingests.delete(ref)) throw new Refusal(status.NOT_FOUND, `ingest ref "${ref}": not found`);
      return {};
    }),
    contentRead: (call: ServerWritableStream<{ digest: string; offset: number; size: number }, object>) => {
      const { digest, offset, size } = call.request;
      this.reads.push(digest);
      const bytes = this.blobs.get(digest) ?? Buffer.alloc(0);
      // The store's index has the size of a blob whose file was cut.
      if (bytes.length === 0) return void call.emit('error', new Refusal(status.UNKNOWN, 'unexpected EOF'));
      call.write({ offset, data: bytes.subarray(offset, size === 0 ? undefined : offset + size) });
      call.end();
    },
    contentWrite: (stream: WriteStream) => this.#write(stream),
  };

  #find(digest: string): Buffer {
    const bytes = this.blobs.get(digest);
    if (!bytes) throw new Refusal(status.NOT_FOUND, `content ${digest}: not found`);
    return bytes;
  }

  #write(stream: WriteStream): void {
    let open: string | undefined;
    const close = (): void => void (open !== undefined && this.#locked.delete(open));
    stream.on('data', (message: WriteMessage) => {
      try {
        open ??= this.#lock(message);
        stream.write(this.#handle(open, message));
      } catch (error) {
        close();
        stream.emit('error', error);
      }
    });
    stream.on('cancelled', close);
    stream.on('end', () => {
      close();
      stream.end();
    });
  }

  #lock({ ref, expected }: WriteMessage): string {
    if (this.blobs.has(expected)) throw new Refusal(status.ALREADY_EXISTS, `content ${expected}: already exists`);
    if (this.#locked.has(ref)) throw new Refusal(status.UNAVAILABLE, `ref ${ref} locked`);
    this.#locked.add(ref);
    return ref;
  }

  #handle(ref: string, { action, offset, data, total, expected }: WriteMessage): object {
    const before = this.ingests.get(ref) ?? Buffer.alloc(0);
    if (action === WriteAction.write) this.ingests.set(ref, Buffer.concat([before.subarray(0, offset), data]));
    else if (action === WriteAction.commit) this.commit(ref, { digest: expected, size: total });
    else this.ingests.set(ref, before);
    return { action, offset: this.ingests.get(ref)?.length ?? total, total };
  }

  /** Stores an ingest as a blob; one that is not what it should be stays. */
  commit(ref: string, { digest, size }: { readonly digest: string; readonly size: number }): void {
    const bytes = this.ingests.get(ref) ?? Buffer.alloc(0);
    if (bytes.length !== size) throw new Refusal(status.FAILED_PRECONDITION, `unexpected commit size ${bytes.length}, expected ${size}`);
    if (digestOf(bytes) !== digest) throw new Refusal(status.FAILED_PRECONDITION, `unexpected commit digest ${digestOf(bytes)}`);
    this.blobs.set(digest, bytes);
    this.ingests.delete(ref);
  }
}

/** Pulls an image and returns its digest: containerd goes on where an ingest ended, by an open range, and takes what a status below 300 brings. */
async function pullAsContainerd(store: MemoryContent, pullSpec: string): Promise<string> {
  const [, host = '', repository = '', tag, named] = /^([^/]+)\/(.*?)(?::([^:@/]+))?(?:@(.*))?$/.exec(pullSpec) ?? [];
  const base = `http://${host}/v2/${repository}`;
  const digest = named ?? (await fetch(`${base}/manifests/${tag}`, { method: 'HEAD' })).headers.get('docker-content-digest') ?? '';
  const fill = async (kind: string, path: string, blob: { readonly digest: string; readonly size?: number }): Promise<Buffer> => {
    const known = store.blobs.get(blob.digest);
    if (known) return known;
    const ref = `${kind}-${blob.digest}`;
    const before = store.ingests.get(ref) ?? Buffer.alloc(0);
    const headers: Record<string, string> = before.length === 0 ? {} : { range: `bytes=${before.length}-` };
    const answer = await fetch(`${base}/${path}/${blob.digest}`, { headers });
    const failed = `failed to copy: httpReadSeeker: failed open: unexpected status code ${base}/${path}/${blob.digest}: ${answer.status}`;
    if (answer.status > 299) throw new Refusal(status.UNKNOWN, `${failed} ${answer.statusText}`);
    const range = answer.headers.get('content-range');
    if (range !== null && !range.startsWith(`bytes ${before.length}-`)) throw new Refusal(status.UNKNOWN, 'unhandled content range');
    const skip = range === null ? before.length : 0;
    let seen = 0;
    try {
      for await (const chunk of answer.body ?? []) {
        const fresh = Buffer.from(chunk).subarray(Math.max(0, skip - seen));
        seen += chunk.length;
        store.ingests.set(ref, Buffer.concat([store.ingests.get(ref) ?? Buffer.alloc(0), fresh]));
      }
    } catch (error) {
      throw new Refusal(status.UNKNOWN, `failed to copy: ${(error as Error).message}`);
    }
    const size = blob.size ?? store.ingests.get(ref)?.length ?? 0;
    store.commit(ref, { digest: blob.digest, size });
    return store.blobs.get(blob.digest) ?? Buffer.alloc(0);
  };
  const manifest = Manifest.parse(JSON.parse((await fill('manifest', 'manifests', { digest })).toString()));
  await fill('config', 'blobs', manifest.config);
  for (const layer of manifest.layers) await fill('layer', 'blobs', layer);
  return digest;
}
