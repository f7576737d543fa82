import { errorMessage } from '@flotilla/api';
import { type Clock, pause } from '@flotilla/pace';
import type { Logger } from '@flotilla/runtime';
import { CorruptBlobError } from '../errors.ts';
import { ChannelError } from '../nodes/channel.ts';
import type { BlobSharing, Peer } from '../nodes/peer-blobs.ts';
import type { BlobSource } from './ingest.ts';
import { isPassing } from './next-way.ts';
import type { ExpectedBlob } from './writer.ts';

/** Milliseconds for which nodes that have a blob may give no byte of it: a cut between nodes is waited for, because it passes. */
const PATIENCE_MS = 180_000;
const RETRY_MS = 1_000;
/** Slowest rate of copies that break off: a hostile node could hold up a blob by a byte at a time. */
const SLOWEST_BYTES_PER_MS = 64;

/** Dependencies of copying a blob. */
interface CopyDeps {
  readonly sharing: BlobSharing;
  readonly ingest: (source: BlobSource) => Promise<void>;
  /** Drops what an unfinished copy has left. */
  readonly abort: () => Promise<void>;
  /** Since when nodes have broken off without a byte, by their ids. All blobs share it: one that stays cut off is waited for once. */
  readonly brokenSince: Map<string, number>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Dependencies of putting a blob into the store. */
interface ObtainDeps extends CopyDeps {
  /** True when the store has the whole blob. */
  readonly has: () => Promise<boolean>;
}

/**
 * Puts a blob into this node's store, from other nodes or, where the lead says so, from the registry. A failure that passes leaves the fetch with this
 * node, which has the first part of it.
 * @throws the store's error, or that of the registry
 */
export async function obtainShared(
  deps: ObtainDeps,
  blob: ExpectedBlob,
  { onBytes, fromRegistry }: { readonly onBytes: (bytes: number) => void; readonly fromRegistry: BlobSource },
): Promise<void> {
  const { sharing, has, ingest } = deps;
  if (!(await has()) && (await copyFromPeers(deps, blob, onBytes))) return;
  try {
    await ingest(fromRegistry);
  } catch (error) {
    deps.signal.throwIfAborted();
    if (!isPassing(error)) await sharing.failed(blob);
    throw error;
  }
  await sharing.has(blob);
}

/**
 * Takes a blob from other nodes of the spoke, as soon as one has it. Their places are asked for before each try: a node that was rebooted has another.
 * @returns false when this node is to fetch it from the registry
 * @throws the store's error
 */
async function copyFromPeers(deps: CopyDeps, blob: ExpectedBlob, onBytes: (bytes: number) => void): Promise<boolean> {
  const { sharing, clock, signal, brokenSince } = deps;
  let isMixed = false;
  let triedSince: number | undefined;
  for (;;) {
    const askedAt = clock.now();
    const from = await sharing.source(blob, signal);
    if (from === 'registry') {
      // Bytes of another node that never came to an end would spoil what follows them.
      if (isMixed) await deps.abort();
      return false;
    }
    // Nodes that were away meanwhile have all their time again.
    if (triedSince !== undefined && clock.now() - askedAt > RETRY_MS) {
      for (const { id } of from) brokenSince.delete(id);
      triedSince = undefined;
    }
    triedSince ??= clock.now();
    const { isCopied, hasBytes, broken } = await copyFromOne(deps, blob, { from, onBytes });
    if (isCopied) {
      await sharing.has(blob);
      return true;
    }
    isMixed ||= hasBytes;
    const isLate = clock.now() - triedSince > PATIENCE_MS + blob.size / SLOWEST_BYTES_PER_MS;
    const late = broken.filter(({ id }) => isLate || clock.now() - (brokenSince.get(id) ?? clock.now()) >= PATIENCE_MS);
    for (const { id } of late) await sharing.failed(blob, id);
    if (broken.length > late.length) await pause(clock, RETRY_MS, signal);
    signal.throwIfAborted();
  }
}

/** Outcome of one try of each node. */
interface Tried {
  readonly isCopied: boolean;
  readonly hasBytes: boolean;
  /** Nodes whose connection broke, which may pass. */
  readonly broken: readonly Peer[];
}

/** Tries these nodes in turn; complains of those that are of no use. */
async function copyFromOne(
  deps: CopyDeps,
  blob: ExpectedBlob,
  { from, onBytes }: { readonly from: readonly Peer[]; readonly onBytes: (bytes: number) => void },
): Promise<Tried> {
  const { sharing, signal, logger, clock, brokenSince } = deps;
  let hasBytes = false;
  const broken: Peer[] = [];
  for (const peer of from) {
    try {
      await deps.ingest(async function* (offset, settle) {
        for await (const chunk of sharing.stream(peer, blob, { offset, settle, signal })) {
          hasBytes = true;
          brokenSince.delete(peer.id);
          onBytes(chunk.length);
          yield chunk;
        }
      });
      return { isCopied: true, hasBytes, broken };
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ blob: blob.digest, peer: peer.id, err: errorMessage(error) }, 'Taking a blob from another node failed');
      // A refusal and wrong bytes stay what they are; a broken connection may pass, and so may a store that does not answer.
      const isFinal = error instanceof CorruptBlobError || (error instanceof ChannelError && (error.status ?? 500) < 500);
      if (!isFinal && !(error instanceof ChannelError)) throw error;
      if (isFinal) await sharing.failed(blob, peer.id);
      else {
        broken.push(peer);
        if (!brokenSince.has(peer.id)) brokenSince.set(peer.id, clock.now());
      }
    }
  }
  return { isCopied: false, hasBytes, broken };
}
