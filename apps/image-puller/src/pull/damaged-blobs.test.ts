import { createHash } from 'node:crypto';
import { systemClock } from '@flotilla/pace';
import { createLogger } from '@flotilla/runtime';
import { afterEach, expect, test } from 'vitest';
import { startMemoryContainerd } from '../../testing/memory-containerd.ts';
import { openCriStore } from './cri-store.ts';

const digestOf = (bytes: string): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const signal = new AbortController().signal;
const stack: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of stack.splice(0).reverse()) await end();
});

/** A containerd with these bytes by digest, whose pulls fail. `reads` has the blobs that were read. */
async function startContainerd(blobs: ReadonlyMap<string, string>, pullFails: string) {
  const containerd = await startMemoryContainerd({ pullFails });
  stack.push(() => containerd[Symbol.asyncDispose]());
  for (const [digest, bytes] of blobs) containerd.blobs.set(digest, Buffer.from(bytes));
  const logger = createLogger({ name: 'test', level: 'silent' });
  const options = { sockets: [containerd.socket], credentials: { auths: {} }, parallelPulls: 1, retryForMs: 0, random: () => 0 };
  const store = await openCriStore({ ...options, signal, clock: systemClock, logger });
  stack.push(() => store[Symbol.asyncDispose]());
  const layers = [...blobs].map(([digest, { length }]) => ({ digest, size: length }));
  const pull = () => store.pull({ pullSpec: 'h.test/a:1', referenceDigest: digestOf('index') }, layers, signal);
  const left = () => new Map([...containerd.blobs].map(([digest, bytes]) => [digest, bytes.toString()]));
  return { pull, reads: containerd.reads, left };
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
  const { pull, left } = await startContainerd(blobs, words);
  const message = expect.stringMatching(/^1 blob|^2 blobs/);
  await expect(pull()).rejects.toMatchObject({ transient: true, message });
  const gone = new Set(wrong.map(([digest]) => digest));
  expect(left()).toEqual(new Map(whole.filter(([digest]) => !gone.has(digest))));
});

test('whole blobs stay, are compared once, and the failure is the runtime’s', async () => {
  const blobs = new Map(whole);
  const { pull, reads, left } = await startContainerd(blobs, words);
  for (let tries = 0; tries < 2; tries++) await expect(pull()).rejects.toThrow('invalid tar header');
  expect(left()).toEqual(blobs);
  expect(reads.toSorted()).toEqual(whole.map(([digest]) => digest).toSorted());
});
