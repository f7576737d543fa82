import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@flotilla/pace/testing';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PullerErrorCode, StoreError } from '../errors.ts';
import { CriConnection } from '../socket/connection.ts';
import { Containerd } from '../socket/containerd-protocol.ts';
import { ingestBlob, resumeAt } from './ingest.ts';
import { ContentLease } from './lease.ts';
import { ContentWriter } from './writer.ts';

let folder: string;
const server = { current: new Server() };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-ingest-'));
  server.current = new Server();
});
afterEach(async () => {
  server.current.forceShutdown();
  await rm(folder, { recursive: true, force: true });
});

/** Connects to a content store whose write stream is handled so. */
async function connect(write: (stream: ServerDuplexStream<object, object>) => void): Promise<CriConnection> {
  server.current.addService({ write: Containerd.contentWrite }, { write });
  const socket = join(folder, 'store.sock');
  await new Promise<void>((resolve, reject) =>
    server.current.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve())),
  );
  return new CriConnection(socket);
}
const blob = { digest: `sha256:${'a'.repeat(64)}`, size: 100 };

test.each([
  { length: 0, size: 10, want: 0 },
  { length: 7, size: 10, want: 7 },
  { length: 10, size: 10, want: 10 },
  { length: 11, size: 10, want: 'abort' },
  { length: -1, size: 10, want: 'abort' },
])('an ingest of $length of $size bytes goes on at $want', ({ length, size, want }) => {
  expect(resumeAt(length, size)).toBe(want);
});

test('a store that gives no answer is given up, and the failure may pass', async () => {
  const clock = new ManualClock();
  using connection = await connect((stream) => stream.on('data', () => {}).on('end', () => stream.end()));
  await using writer = new ContentWriter(connection, { lease: 'l', signal: new AbortController().signal, clock });
  const opened = writer.open('layer-x', blob).catch((error: unknown) => error);
  await clock.advance(120_000);
  const error = await opened;
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code: PullerErrorCode.storeUnreachable, transient: true });
});

test('an abort ends a write that waits, with its reason', async () => {
  const stop = new AbortController();
  using connection = await connect((stream) => stream.on('data', () => stop.abort(new Error('SIGTERM'))).on('end', () => stream.end()));
  await using writer = new ContentWriter(connection, { lease: 'l', signal: stop.signal, clock: new ManualClock() });
  await expect(writer.open('layer-x', blob)).rejects.toThrow('SIGTERM');
});

test('writes wait for answers, so that a slow store bounds the memory', async () => {
  const answers: (() => void)[] = [];
  using connection = await connect((stream) =>
    stream.on('data', () => answers.push(() => stream.write({ offset: 1 }))).on('end', () => stream.end()),
  );
  const writer = new ContentWriter(connection, { lease: 'l', signal: new AbortController().signal, clock: new ManualClock() });
  await writer.write(0, Buffer.alloc(1));
  let isThird = false;
  const more = writer.write(1, Buffer.alloc(1)).then(() => writer.write(2, Buffer.alloc(1)).then(() => (isThird = true)));
  await expect.poll(() => answers.length).toBe(2);
  expect(isThird).toBe(false);
  answers[0]?.();
  await expect.poll(() => answers.length).toBe(3);
  for (const answer of answers.slice(1)) answer();
  await more;
  await writer.settle();
  await writer[Symbol.asyncDispose]();
  expect(isThird).toBe(true);
});

test('of a slow source nothing waits for a full message, so that a kill costs little of it', async () => {
  const [clock, stored] = [new ManualClock(), Promise.withResolvers<Buffer>()];
  const answering = (value: object) => (_: unknown, answer: (error: null, value: object) => void) => answer(null, value);
  server.current.addService(
    { create: Containerd.createLease, list: Containerd.listLeases },
    { create: answering({ lease: { id: 'l' } }), list: answering({ leases: [] }) },
  );
  using connection = await connect((stream) =>
    stream
      .on('data', ({ action, data }: { action: number; data?: Buffer }) => {
        if (data?.length) stored.resolve(data);
        stream.write({ action, offset: data?.length ?? 0 });
      })
      .on('end', () => stream.end()),
  );
  const { signal } = new AbortController();
  const deps = { connection, signal, clock, lease: new ContentLease(connection, clock) };
  await ingestBlob(deps, 'layer-x', blob, async function* () {
    yield Buffer.alloc(40, 1);
    await clock.advance(100);
    yield Buffer.alloc(40, 2);
    // The rest comes when these are in the store.
    expect(await stored.promise).toHaveLength(80);
    yield Buffer.alloc(20, 3);
  });
});
