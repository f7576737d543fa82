import { createHash } from 'node:crypto';
import { readJson } from '@flotilla/api';
import type { Logger } from '@flotilla/runtime';
import { z } from 'zod';
import { PullerErrorCode, StoreError } from '../errors.ts';
import { isRefusal } from '../socket/connection.ts';
import { type Asked, blobSize, callContainerd, isUnpacked, orAbsent, readContent } from '../socket/containerd.ts';
import { Containerd } from '../socket/containerd-protocol.ts';
import { Protocol, type ProtocolMethod } from '../socket/protocol.ts';

const StatusAnswer = z.object({
  image: z.object({ id: z.string(), repoDigests: z.array(z.string()) }).nullish(),
  info: z.record(z.string(), z.string()).default({}),
});
/** Part of containerd's verbose answer, which is JSON. */
const ImageInfo = z.object({ chainID: z.string() });

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
interface PresenceDeps extends Asked {
  /** Name of containerd's snapshotter; undefined for other runtimes, which say nothing of layers. */
  readonly snapshotter: string | undefined;
  /** Receives blobs that are shorter than they should be. */
  readonly onCut?: (digest: string) => void;
}

/**
 * Finds what the runtime lacks of an image; undefined when its containers start without a registry. Layers count as there when they are unpacked, or
 * can be from whole blobs.
 */
export async function findLoss(deps: PresenceDeps, { digest, name, layers }: NeededImage): Promise<string | undefined> {
  const { snapshotter } = deps;
  const request = { image: { image: name.pullSpec }, verbose: snapshotter !== undefined };
  const { image, info } = await callContainerd(deps, Protocol.imageStatus, request, StatusAnswer);
  if (!image) return 'the image is gone';
  // A tag may have moved since its pull.
  if (!name.pullSpec.includes('@') && !meansImage(digestsOf(image), { digest, referenceDigest: name.referenceDigest }))
    return `the name means ${image.repoDigests[0] ?? image.id} now`;
  if (snapshotter === undefined) return undefined;
  for (const document of new Set([name.referenceDigest, digest, image.id]))
    if (document !== undefined && !(await hasBlob(deps, document))) return `document ${document} is gone`;
  const chainId = chainIdOf(info.info);
  if (chainId !== undefined && (await isUnpacked(deps, snapshotter, chainId))) return undefined;
  if (layers.length === 0) return 'its layers are not unpacked';
  const lost: string[] = [];
  for (const layer of layers) if (!(await hasBlob(deps, layer))) lost.push(layer);
  return lost.length === 0 ? undefined : `${lost.length} of ${layers.length} layers are gone, the first is ${lost[0]}`;
}

/** True when one of the digests that a runtime has for a name is that of the image: runtimes keep the index's, the platform's manifest's, or both. */
export const meansImage = (
  digests: readonly string[],
  { digest, referenceDigest }: { readonly digest?: string | undefined; readonly referenceDigest: string },
): boolean => digests.some((own) => own === referenceDigest || own === digest);

/** Digests that the runtime has for a name; empty when the image is not there. */
export async function readDigests(asked: Asked, pullSpec: string): Promise<readonly string[]> {
  const { image } = await callContainerd(asked, Protocol.imageStatus, { image: { image: pullSpec } }, StatusAnswer);
  return image ? digestsOf(image) : [];
}

const digestsOf = ({ repoDigests }: { readonly repoDigests: readonly string[] }): string[] =>
  repoDigests.map((name) => name.slice(name.lastIndexOf('@') + 1));

/** The runtime's own answer, which is JSON in a text; a runtime that answers otherwise says nothing of layers. */
const chainIdOf = (text = ''): string | undefined => ImageInfo.safeParse(readJson(text)).data?.chainID;

/** True for a blob that is there to its last byte: the store's index alone would not notice a file that was cut. */
async function hasBlob(deps: PresenceDeps, digest: string): Promise<boolean> {
  const size = (await blobSize(deps, digest)) ?? 0;
  if (size === 0) return false;
  const isWhole = (await readByte(deps, digest, size - 1)) === 1;
  if (!isWhole) deps.onCut?.(digest);
  return isWhole;
}

async function readByte(asked: Asked, digest: string, offset: number): Promise<number> {
  let bytes = 0;
  try {
    for await (const { length } of readContent(asked, { digest, offset, size: 1 })) bytes += length;
  } catch (error) {
    if (!isRefusal(error, 'NOT_FOUND') && !isRefusal(error, 'OUT_OF_RANGE') && !isRefusal(error, 'UNKNOWN')) throw error;
  }
  return bytes;
}

/** Name of the lease whose end has containerd collect at once. */
const COLLECTING = 'flotilla-precache-cut';

/** Removes cut blobs: containerd takes them for whole and would never fetch them again. Their files go with the next collection, which this asks for. */
export async function dropBlobs(asked: Asked, digests: Iterable<string>): Promise<void> {
  const call = (method: ProtocolMethod, request: object) => orAbsent(callContainerd(asked, method, request));
  for (const digest of digests) await call(Containerd.contentDelete, { digest });
  await call(Containerd.deleteLease, { id: COLLECTING, sync: false });
  await call(Containerd.createLease, { id: COLLECTING, labels: {} });
  await call(Containerd.deleteLease, { id: COLLECTING, sync: true });
}

/** Time for reading one blob from the node's disk. */
const READ_MS = 10 * 60_000;

/** Finds out whether a failed pull is the fault of stored blobs. Each whole blob is read once in a run. */
export class DamageCheck {
  readonly #asked: Asked;
  readonly #logger: Logger;
  readonly #whole = new Set<string>();

  constructor(asked: Asked, logger: Logger) {
    this.#asked = asked;
    this.#logger = logger;
  }

  /**
   * Removes blobs whose bytes are not what their digest says: the runtime takes them for whole and would never fetch them again.
   * @returns the failure, or with blobs removed one after which the pull may succeed
   */
  async explain(failure: unknown, digests: Iterable<string>): Promise<unknown> {
    if (!(failure instanceof StoreError) || failure.code !== PullerErrorCode.storeRefused) return failure;
    const damaged: string[] = [];
    for (const digest of new Set(digests)) if (await this.#isDamaged(digest)) damaged.push(digest);
    if (damaged.length === 0) return failure;
    this.#logger.warn({ blobs: damaged.slice(0, 10), count: damaged.length }, 'Removing blobs that are not what their digests say');
    await dropBlobs(this.#asked, damaged);
    const blobs = damaged.length === 1 ? '1 blob was' : `${damaged.length} blobs were`;
    const message = `${blobs} damaged in the node's store, the first ${damaged[0]}, and will be fetched again: ${failure.message}`;
    return new StoreError(PullerErrorCode.storeRefused, message, { transient: true });
  }

  async #isDamaged(digest: string): Promise<boolean> {
    if (this.#whole.has(digest) || (await blobSize(this.#asked, digest)) === undefined) return false;
    const hash = createHash('sha256');
    try {
      for await (const chunk of readContent(this.#asked, { digest, deadlineMs: READ_MS })) hash.update(chunk);
    } catch (error) {
      // A file that is shorter than the store's index says ends so.
      if (isRefusal(error, 'OUT_OF_RANGE') || isRefusal(error, 'UNKNOWN')) return true;
      throw error;
    }
    const isWhole = `sha256:${hash.digest('hex')}` === digest;
    if (isWhole) this.#whole.add(digest);
    return !isWhole;
  }
}
