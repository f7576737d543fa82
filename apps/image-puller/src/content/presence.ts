import { z } from 'zod';
import { type CallOptions, type CriConnection, isRefusal } from '../socket/connection.ts';
import { COMMITTED, Containerd, containerdMetadata } from '../socket/containerd-protocol.ts';
import { Protocol } from '../socket/cri-protocol.ts';

const StatusAnswer = z.object({
  image: z.object({ id: z.string(), repoDigests: z.array(z.string()) }).nullish(),
  info: z.record(z.string(), z.string()).default({}),
});
/** Part of containerd's verbose answer, which is JSON. */
const ImageInfo = z.object({ chainID: z.string() });
const BlobAnswer = z.object({ info: z.object({ size: z.number() }).nullish() });
const SnapshotAnswer = z.object({ info: z.object({ kind: z.number() }).nullish() });
const Nothing = z.unknown();
const ReadAnswer = z.object({ data: z.instanceof(Uint8Array) });

const CALL_MS = 30_000;

/** The parts of an image that its containers need to start without a registry. */
export interface NeededImage {
  /** Digest of the platform's manifest; undefined when unknown. */
  readonly digest?: string | undefined;
  /** Name in the store, and the digest behind it. */
  readonly name: { readonly pullSpec: string; readonly referenceDigest: string };
  /** Digests of the layers; empty when unknown. */
  readonly layers: readonly string[];
}

/** A runtime, as far as it is asked what it has. */
interface PresenceDeps {
  readonly connection: CriConnection;
  /** Name of containerd's snapshotter; undefined for other runtimes, which say nothing of layers. */
  readonly snapshotter: string | undefined;
  /** Receives blobs that are shorter than they should be. */
  readonly onCut?: (digest: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Finds what the runtime lacks of an image; undefined when its containers start without a registry. Layers count as there when they are unpacked, or
 * can be from whole blobs.
 */
export async function findLoss(deps: PresenceDeps, { digest, name, layers }: NeededImage): Promise<string | undefined> {
  const { connection, snapshotter } = deps;
  const request = { image: { image: name.pullSpec }, verbose: snapshotter !== undefined };
  const { image, info } = await connection.call(Protocol.imageStatus, request, StatusAnswer, callOptions(deps));
  if (!image) return 'the image is gone';
  // A tag may have moved since its pull.
  if (!name.pullSpec.includes('@') && !image.repoDigests.some((own) => own.endsWith(`@${name.referenceDigest}`)))
    return `the name means ${image.repoDigests[0] ?? image.id} now`;
  if (snapshotter === undefined) return undefined;
  for (const document of new Set([name.referenceDigest, digest, image.id]))
    if (document !== undefined && !(await hasBlob(deps, document))) return `document ${document} is gone`;
  const chainId = chainIdOf(info.info);
  if (chainId !== undefined && (await hasSnapshot(deps, snapshotter, chainId))) return undefined;
  if (layers.length === 0) return 'its layers are not unpacked';
  const lost: string[] = [];
  for (const layer of layers) if (!(await hasBlob(deps, layer))) lost.push(layer);
  return lost.length === 0 ? undefined : `${lost.length} of ${layers.length} layers are gone, the first is ${lost[0]}`;
}

/** The runtime's own answer, which is JSON in a text; a runtime that answers otherwise says nothing of layers. */
function chainIdOf(text: string | undefined): string | undefined {
  try {
    return ImageInfo.safeParse(JSON.parse(text ?? '')).data?.chainID;
  } catch {
    return undefined; // asked for the blobs instead
  }
}

async function hasSnapshot(deps: PresenceDeps, snapshotter: string, key: string): Promise<boolean> {
  const { statSnapshot } = Containerd;
  const found = await orAbsent(() => deps.connection.call(statSnapshot, { snapshotter, key }, SnapshotAnswer, callOptions(deps)));
  return found?.info?.kind === COMMITTED;
}

/** True for a blob that is there to its last byte: the store's index alone would not notice a file that was cut. */
async function hasBlob(deps: PresenceDeps, digest: string): Promise<boolean> {
  const { connection } = deps;
  const found = await orAbsent(() => connection.call(Containerd.contentInfo, { digest }, BlobAnswer, callOptions(deps)));
  const size = found?.info?.size ?? 0;
  if (size === 0) return false;
  const isWhole = (await readByte(deps, digest, size - 1)) === 1;
  if (!isWhole) deps.onCut?.(digest);
  return isWhole;
}

async function readByte({ connection, signal }: PresenceDeps, digest: string, offset: number): Promise<number> {
  const stream = connection.openAnswers(
    Containerd.contentRead,
    { digest, offset, size: 1 },
    { metadata: containerdMetadata(), deadlineMs: CALL_MS },
  );
  const cancel = (): void => stream.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  let bytes = 0;
  try {
    for await (const answer of stream) bytes += ReadAnswer.parse(answer).data.length;
  } catch (error) {
    signal.throwIfAborted();
    const failure = connection.translate(error);
    if (!isRefusal(failure, 'NOT_FOUND') && !isRefusal(failure, 'OUT_OF_RANGE') && !isRefusal(failure, 'UNKNOWN')) throw failure;
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
  return bytes;
}

/** Name of the lease whose end has containerd collect at once. */
const COLLECTING = 'flotilla-precache-cut';

/** Removes cut blobs: containerd takes them for whole and would never fetch them again. Their files go with the next collection, which this asks for. */
export async function dropBlobs(deps: Omit<PresenceDeps, 'snapshotter'>, digests: Iterable<string>): Promise<void> {
  const { connection } = deps;
  const call = (method: Parameters<CriConnection['call']>[0], request: object) =>
    orAbsent(() => connection.call(method, request, Nothing, callOptions(deps)));
  for (const digest of digests) await call(Containerd.contentDelete, { digest });
  await call(Containerd.deleteLease, { id: COLLECTING, sync: false });
  await call(Containerd.createLease, { id: COLLECTING, labels: {} });
  await call(Containerd.deleteLease, { id: COLLECTING, sync: true });
}

async function orAbsent<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isRefusal(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}

const callOptions = ({ signal }: Pick<PresenceDeps, 'signal'>): CallOptions => ({
  signal,
  deadlineMs: CALL_MS,
  metadata: containerdMetadata(),
});
