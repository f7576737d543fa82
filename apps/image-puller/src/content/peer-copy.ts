import { errorMessage } from '@flotilla/api';
import { type Clock, pause } from '@flotilla/pace';
import type { Logger } from '@flotilla/runtime';
import { CorruptBlobError } from '../errors.ts';
import { ChannelError } from '../nodes/channel.ts';
import type { BlobSharing } from '../nodes/coordination.ts';
import type { Peer } from '../nodes/peer-blobs.ts';
import type { BlobSource } from './ingest.ts';
import type { ExpectedBlob } from './writer.ts';

/** Milliseconds for which nodes that have a blob may give no byte of it: a cut between nodes is waited for. */
const PATIENCE_MS = 20_000;
const RETRY_MS = 1_000;
/** Slowest rate of copies that break off: a hostile node could hold up a blob by a byte at a time. */
const SLOWEST_BYTES_PER_MS = 64;

/** Dependencies of copying a blob. */
interface CopyDeps {
  readonly sharing: BlobSharing;
  readonly ingest: (source: BlobSource) => Promise<void>;
  /** Drops what an unfinished copy has left. */
  readonly abort: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Takes a blob from other nodes of the spoke, as soon as one has it. Their places are asked for before each try: a node that was rebooted has another.
 * @returns false when this node is to fetch it from the registry
 * @throws the store's error
 */
export async function copyFromPeers(deps: CopyDeps, blob: ExpectedBlob, onBytes: (bytes: number) => void): Promise<boolean> {
  const { sharing, clock, signal } = deps;
  let isMixed = false;
  let failingSince: number | undefined;
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
    if (clock.now() - askedAt > RETRY_MS) failingSince = triedSince = undefined;
    triedSince ??= clock.now();
    const { isCopied, hasBytes, broken } = await copyFromOne(deps, blob, { from, onBytes });
    if (isCopied) {
      await sharing.has(blob);
      return true;
    }
    isMixed ||= hasBytes;
    if (hasBytes) failingSince = clock.now();
    failingSince ??= clock.now();
    const isLate = clock.now() - triedSince > PATIENCE_MS + blob.size / SLOWEST_BYTES_PER_MS;
    if (clock.now() - failingSince < PATIENCE_MS && !isLate) {
      if (broken.length > 0) await pause(clock, RETRY_MS, signal);
    } else {
      for (const peer of broken) await sharing.failed(blob, peer.id);
    }
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
  const { sharing, signal, logger } = deps;
  let hasBytes = false;
  const broken: Peer[] = [];
  for (const peer of from) {
    try {
      await deps.ingest(async function* (offset, settle) {
        for await (const chunk of sharing.stream(peer, blob, { offset, settle, signal })) {
          hasBytes = true;
          onBytes(chunk.length);
          yield chunk;
        }
      });
      return { isCopied: true, hasBytes, broken };
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ blob: blob.digest, peer: peer.id, err: errorMessage(error) }, 'Taking a blob from another node failed');
      // A refusal and wrong bytes stay what they are; a broken connection may pass.
      const isFinal = error instanceof CorruptBlobError || (error instanceof ChannelError && error.status !== undefined);
      if (!isFinal && !(error instanceof ChannelError)) throw error;
      if (isFinal) await sharing.failed(blob, peer.id);
      else broken.push(peer);
    }
  }
  return { isCopied: false, hasBytes, broken };
}
