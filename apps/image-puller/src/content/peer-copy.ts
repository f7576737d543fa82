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
 * Takes a blob from other nodes of the spoke, as soon as one has it.
 * @returns false when this node is to fetch it from the registry
 * @throws the store's error
 */
export async function copyFromPeers(deps: CopyDeps, blob: ExpectedBlob, onBytes: (bytes: number) => void): Promise<boolean> {
  const { sharing, signal } = deps;
  let isMixed = false;
  for (;;) {
    const from = await sharing.source(blob, signal);
    if (from === 'registry') {
      // Bytes of another node that never came to an end would spoil what follows them.
      if (isMixed) await deps.abort();
      return false;
    }
    const outcome = await copyFromOne(deps, blob, { from, onBytes });
    if (outcome === 'copied') {
      await sharing.has(blob);
      return true;
    }
    isMixed ||= outcome === 'partly';
  }
}

/** Tries these nodes in turn as long as bytes come; complains of them afterwards. */
async function copyFromOne(
  deps: CopyDeps,
  blob: ExpectedBlob,
  { from, onBytes }: { readonly from: readonly Peer[]; readonly onBytes: (bytes: number) => void },
): Promise<'copied' | 'partly' | 'nothing'> {
  const { sharing, clock, signal, logger } = deps;
  let grewAt = clock.now();
  let hasBytes = false;
  const left = new Set(from);
  while (left.size > 0 && clock.now() - grewAt < PATIENCE_MS) {
    for (const peer of left) {
      try {
        await deps.ingest(async function* (offset, settle) {
          for await (const chunk of sharing.stream(peer, blob, { offset, settle, signal })) {
            hasBytes = true;
            grewAt = clock.now();
            onBytes(chunk.length);
            yield chunk;
          }
        });
        return 'copied';
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ blob: blob.digest, peer: peer.id, err: errorMessage(error) }, 'Taking a blob from another node failed');
        // A refusal and wrong bytes stay what they are; a broken connection may pass.
        const isFinal = error instanceof CorruptBlobError || (error instanceof ChannelError && error.status !== undefined);
        if (!isFinal && !(error instanceof ChannelError)) throw error;
        if (!isFinal) continue;
        left.delete(peer);
        await sharing.failed(blob, peer.id);
      }
    }
    if (left.size > 0) await pause(clock, RETRY_MS, signal);
    signal.throwIfAborted();
  }
  for (const peer of left) await sharing.failed(blob, peer.id);
  return hasBytes ? 'partly' : 'nothing';
}
