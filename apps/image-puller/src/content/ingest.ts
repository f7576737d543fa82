import { type Clock, pause } from '@flotilla/pace';
import { CorruptBlobError, StoreError } from '../errors.ts';
import { isRefusal } from '../socket/connection.ts';
import { type Asked, callContainerd, listIngests, orAbsent } from '../socket/containerd.ts';
import { Containerd } from '../socket/containerd-protocol.ts';
import type { ContentLease } from './lease.ts';
import { ContentWriter, type ExpectedBlob } from './writer.ts';

/** Bytes of one message; containerd takes up to 16 MiB. */
const MESSAGE_BYTES = 1024 * 1024;
/** Longest that bytes wait for a full message: on a slow link a kill would cost seconds of it. */
const MESSAGE_MS = 100;
/** Pause between two looks at an ingest that another writer has. */
const LOCKED_PAUSE_MS = 500;
/** Time for which another writer's ingest may stand still. */
const LOCKED_MS = 30_000;

/** Name of an ingest: the runtime's own pull uses the same, so either goes on with the bytes of the other. */
export const ingestRef = (kind: 'layer' | 'config' | 'manifest', digest: string): string => `${kind}-${digest}`;

/** Dependencies of an ingest. */
export interface IngestDeps extends Asked {
  readonly lease: ContentLease;
  readonly clock: Clock;
}

/** Bytes of a blob from an offset on; `settle` stores all bytes that were given before. */
export type BlobSource = (offset: number, settle: () => Promise<void>) => AsyncIterable<Buffer>;

/** Decides how to go on with an ingest of this length: an ingest longer than its blob is of no use. */
export const resumeAt = (length: number, size: number): number | 'abort' => (length >= 0 && length <= size ? length : 'abort');

/**
 * Puts a blob into containerd's content store, from where an earlier ingest ended. The lease holds it, also when it was there.
 * @returns true when it was not there
 * @throws CorruptBlobError when the bytes are wrong, StoreError, NoSpaceError, or an error of the source
 */
export async function ingestBlob(deps: IngestDeps, ref: string, blob: ExpectedBlob, source: BlobSource): Promise<boolean> {
  const opened = await openIngest(deps, ref, blob);
  if (!opened) return false;
  const { writer } = opened;
  try {
    await copy(writer, opened.offset, source, deps.clock);
    await writer.commit(blob);
    await writer[Symbol.asyncDispose]();
    return true;
  } catch (error) {
    await writer[Symbol.asyncDispose]();
    if (isRefusal(error, 'ALREADY_EXISTS')) return false;
    if (!isRefusal(error, 'FAILED_PRECONDITION')) throw error;
    // Wrong bytes stay in an ingest and fail every later commit.
    await abortIngest(deps, ref);
    throw new CorruptBlobError(`blob ${blob.digest} is not what its digest says: ${(error as Error).message}`, { cause: error });
  }
}

/** Removes what an ingest has. */
export async function abortIngest(asked: Asked, ref: string): Promise<void> {
  await orAbsent(callContainerd(asked, Containerd.contentAbort, { ref }));
}

/** Removes what has arrived of layers, but not from under somebody who writes one. */
export async function dropIngests(deps: Asked & { readonly clock: Clock }, layers: readonly ExpectedBlob[]): Promise<void> {
  const refs = new Map(layers.map((layer) => [ingestRef('layer', layer.digest), layer]));
  for (const { ref } of await listIngests(deps)) {
    const layer = refs.get(ref);
    if (layer && (await isFree(deps, ref, layer))) await abortIngest(deps, ref);
  }
}

async function isFree(deps: Asked & { readonly clock: Clock }, ref: string, layer: ExpectedBlob): Promise<boolean> {
  await using writer = new ContentWriter(deps.connection, deps);
  return writer.open(ref, layer).then(
    () => true,
    (error: unknown) => {
      if (isLocked(error) || isRefusal(error, 'ALREADY_EXISTS')) return false;
      throw error;
    },
  );
}

/** Copies in messages of a mebibyte; what is shorter goes when the next bytes come late, or the source asks for it. */
async function copy(writer: ContentWriter, from: number, source: BlobSource, clock: Clock): Promise<void> {
  let offset = from;
  let waiting: Buffer[] = [];
  let [length, sentAt] = [0, clock.now()];
  const send = async (): Promise<void> => {
    if (length === 0) return;
    const data = Buffer.concat(waiting, length);
    waiting = [];
    length = 0;
    await writer.write(offset, data);
    offset += data.length;
    sentAt = clock.now();
  };
  const settle = async (): Promise<void> => {
    await send();
    await writer.settle();
  };
  try {
    for await (const chunk of source(from, settle)) {
      waiting.push(chunk);
      length += chunk.length;
      if (length >= MESSAGE_BYTES || clock.now() - sentAt >= MESSAGE_MS) await send();
    }
  } finally {
    // Bytes that arrived before a cut are paid for.
    await settle();
  }
}

/** Opens the ingest, and waits for another writer of it as long as that one moves. Undefined for a stored blob. */
async function openIngest(
  deps: IngestDeps,
  ref: string,
  blob: ExpectedBlob,
): Promise<{ readonly writer: ContentWriter; readonly offset: number } | undefined> {
  const other = { offset: -1, movedAt: deps.clock.now() };
  for (let isLeaseFresh = false; ; ) {
    const writer = new ContentWriter(deps.connection, { ...deps, lease: await deps.lease.hold(deps.signal) });
    try {
      const offset = resumeAt(await writer.open(ref, blob), blob.size);
      if (offset !== 'abort') return { writer, offset };
      await writer[Symbol.asyncDispose]();
      await abortIngest(deps, ref);
    } catch (error) {
      await writer[Symbol.asyncDispose]();
      if (isRefusal(error, 'ALREADY_EXISTS')) return undefined;
      if (isRefusal(error, 'NOT_FOUND') && !isLeaseFresh) {
        deps.lease.forget();
        isLeaseFresh = true;
      } else if (isLocked(error)) await awaitOther(deps, ref, { other, error });
      else throw error;
    }
  }
}

/** containerd says UNAVAILABLE also when it does not answer at all. */
const isLocked = (error: unknown): boolean =>
  error instanceof StoreError && isRefusal(error, 'UNAVAILABLE') && /\blocked\b/.test(error.message);

async function awaitOther(
  deps: IngestDeps,
  ref: string,
  { other, error }: { readonly other: { offset: number; movedAt: number }; readonly error: unknown },
): Promise<void> {
  const { clock, signal } = deps;
  const offset = (await listIngests(deps)).find((ingest) => ingest.ref === ref)?.offset ?? other.offset;
  if (offset !== other.offset) Object.assign(other, { offset, movedAt: clock.now() });
  if (clock.now() - other.movedAt > LOCKED_MS) throw error;
  await pause(clock, LOCKED_PAUSE_MS, signal);
  signal.throwIfAborted();
}
