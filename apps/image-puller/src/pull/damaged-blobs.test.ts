import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@flotilla/pace';
import { createLogger } from '@flotilla/runtime';
import { Server, ServerCredentials, type ServerUnaryCall, type ServerWritableStream, type sendUnaryData, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Containerd } from '../socket/containerd-protocol.ts';
import { Protocol } from '../socket/cri-protocol.ts';
import { openCriStore } from './cri-store.ts';

const digestOf = (bytes: string): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const signal = new AbortController().signal;
const stack: (() => unknown)[] = [];
let socket: string;
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-damaged-'));
  stack.push(() => rm(folder, { recursive: true, force: true }));
  socket = join(folder, 'containerd.sock');
});
afterEach(async () => {
  for (const end of stack.splice(0).reverse()) await end();
});

/** A containerd with these bytes by digest, whose pulls fail in these words. `reads` has the blobs that were read. */
async function startContainerd(blobs: Map<string, string>, words: string) {
  const reads: string[] = [];
  const server = new Server();
  type Call = ServerUnaryCall<{ digest: string }, object>;
  const refuse = (answer: sendUnaryData<object>, code: status, details: string) => answer({ code, details });
  const nothing = (_: Call, answer: sendUnaryData<object>) => answer(null, {});
  const { contentInfo, contentRead, contentDelete, createLease, deleteLease } = Containerd;
  const { version, imageFsInfo, pullImage } = Protocol;
  server.addService(
    { version, imageFsInfo, pullImage, contentInfo, contentRead, contentDelete, createLease, deleteLease },
    {
      version: (_: Call, answer: sendUnaryData<object>) =>
        answer(null, { version: '0.1.0', runtimeName: 'containerd', runtimeVersion: 'v2.1', runtimeApiVersion: 'v1' }),
      imageFsInfo: (_: Call, answer: sendUnaryData<object>) =>
        answer(null, { imageFilesystems: [{ fsId: { mountpoint: '/io.containerd.snapshotter.v1.overlayfs' } }] }),
      pullImage: (_: Call, answer: sendUnaryData<object>) => refuse(answer, status.UNKNOWN, words),
      contentInfo: ({ request: { digest } }: Call, answer: sendUnaryData<object>) => {
        const bytes = blobs.get(digest);
        if (bytes === undefined) refuse(answer, status.NOT_FOUND, `content ${digest}: not found`);
        else answer(null, { info: { digest, size: bytes.length } });
      },
      contentRead: (call: ServerWritableStream<{ digest: string }, object>) => {
        const { digest } = call.request;
        reads.push(digest);
        const bytes = blobs.get(digest) ?? '';
        // The store's index has the size of a blob whose file was cut.
        if (bytes === '') return void call.emit('error', { code: status.UNKNOWN, details: 'unexpected EOF' });
        call.write({ offset: 0, data: Buffer.from(bytes) });
        call.end();
      },
      contentDelete: ({ request: { digest } }: Call, answer: sendUnaryData<object>) => {
        blobs.delete(digest);
        answer(null, {});
      },
      createLease: nothing,
      deleteLease: nothing,
    },
  );
  stack.push(() => server.forceShutdown());
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve())),
  );
  const logger = createLogger({ name: 'test', level: 'silent' });
  const options = { sockets: [socket], credentials: { auths: {} }, parallelPulls: 1, retryForMs: 0, random: () => 0 };
  const store = await openCriStore({ ...options, signal, clock: systemClock, logger });
  stack.push(() => store[Symbol.asyncDispose]());
  const layers = [...blobs].map(([digest, { length }]) => ({ digest, size: length }));
  const pull = () => store.pull({ pullSpec: 'h.test/a:1', referenceDigest: digestOf('index') }, layers, signal);
  return { pull, reads };
}

const words = 'failed to pull and unpack image "h.test/a:1": failed to extract layer: archive/tar: invalid tar header';
const whole = ['index', 'base', 'top'].map((bytes) => [digestOf(bytes), bytes] as const);

test.each([
  { what: 'layers with other bytes', damaged: { base: 'bBse', top: 'toP' } },
  { what: 'a layer whose file cannot be read', damaged: { top: '' } },
  { what: 'the document of the name', damaged: { index: 'inDex' } },
])('when an unpack fails, $what are removed, and the pull may succeed later', async ({ damaged }) => {
  const wrong = Object.entries(damaged).map(([bytes, other]) => [digestOf(bytes), other] as const);
  const blobs = new Map([...whole, ...wrong]);
  const { pull } = await startContainerd(blobs, words);
  const message = expect.stringMatching(/^1 blob|^2 blobs/);
  await expect(pull()).rejects.toMatchObject({ transient: true, message });
  const gone = new Set(wrong.map(([digest]) => digest));
  expect(new Map(blobs)).toEqual(new Map(whole.filter(([digest]) => !gone.has(digest))));
});

test('whole blobs stay, are compared once, and the failure is the runtime’s', async () => {
  const blobs = new Map(whole);
  const { pull, reads } = await startContainerd(blobs, words);
  for (let tries = 0; tries < 2; tries++) await expect(pull()).rejects.toThrow('invalid tar header');
  expect(blobs).toEqual(new Map(whole));
  expect(reads.toSorted()).toEqual(whole.map(([digest]) => digest).toSorted());
});
