/** Asks containerd's own services, in the namespace of Kubernetes. */
import { z } from 'zod';
import { type CallOptions, type CriConnection, isRefusal } from './connection.ts';
import { COMMITTED, Containerd, containerdMetadata } from './containerd-protocol.ts';
import type { ProtocolMethod } from './protocol.ts';

const CALL_MS = 30_000;
const InfoAnswer = z.object({ info: z.object({ size: z.number() }).nullish() });
const SnapshotAnswer = z.object({ info: z.object({ kind: z.number() }).nullish() });
const StatusesAnswer = z.object({ statuses: z.array(z.object({ ref: z.string(), offset: z.number() })) });
const ReadAnswer = z.object({ data: z.instanceof(Uint8Array) });

/** A runtime that is containerd, and what ends the questions to it. */
export interface Asked {
  readonly connection: CriConnection;
  readonly signal: AbortSignal;
}

/** Makes one call; without a schema the answer says nothing. */
export function callContainerd(asked: Asked, method: ProtocolMethod, request: object): Promise<unknown>;
export function callContainerd<T>(asked: Asked, method: ProtocolMethod, request: object, schema: z.ZodType<T>): Promise<T>;
export function callContainerd(
  { connection, signal }: Asked,
  method: ProtocolMethod,
  request: object,
  schema: z.ZodType = z.unknown(),
): Promise<unknown> {
  const options: CallOptions = { signal, deadlineMs: CALL_MS, metadata: containerdMetadata() };
  return connection.call(method, request, schema, options);
}

/** Awaits a call; undefined where containerd has no such object. */
export async function orAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isRefusal(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}

/** Size of a stored blob; undefined when it is not there. */
export async function blobSize(asked: Asked, digest: string): Promise<number | undefined> {
  return (await orAbsent(callContainerd(asked, Containerd.contentInfo, { digest }, InfoAnswer)))?.info?.size;
}

/** True when the layers up to this chain id are unpacked. */
export async function isUnpacked(asked: Asked, snapshotter: string, key: string): Promise<boolean> {
  const found = await orAbsent(callContainerd(asked, Containerd.statSnapshot, { snapshotter, key }, SnapshotAnswer));
  return found?.info?.kind === COMMITTED;
}

/** Lists the blobs that arrive: names of their ingests, and bytes so far. */
export async function listIngests(asked: Asked): Promise<readonly { readonly ref: string; readonly offset: number }[]> {
  return (await callContainerd(asked, Containerd.contentStatuses, { filters: [] }, StatusesAnswer)).statuses;
}

/** A stored blob, or a range of it, and the time for reading it. */
interface ContentRange {
  readonly digest: string;
  readonly offset?: number;
  readonly size?: number;
  readonly deadlineMs?: number;
}

/** Streams bytes of a stored blob. */
export async function* readContent(
  { connection, signal }: Asked,
  { deadlineMs = CALL_MS, ...range }: ContentRange,
): AsyncGenerator<Buffer> {
  const stream = connection.openAnswers(Containerd.contentRead, range, { metadata: containerdMetadata(), deadlineMs });
  const cancel = (): void => stream.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    for await (const answer of stream) yield Buffer.from(ReadAnswer.parse(answer).data);
  } catch (error) {
    signal.throwIfAborted();
    throw connection.translate(error);
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}
