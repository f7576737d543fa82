import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { LAYER_LIST_KEY, type LayerList } from '@flotilla/api/ran';
import { needsOf, type StoredContent } from '@flotilla/software';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PullerErrorCode, StoreError } from '../errors.ts';
import type { ImageStore } from '../pull/store.ts';
import { inspectNode } from './inspect.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-inspect-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const digest = (sign: string) => `sha256:${sign.repeat(64)}`;
const list: LayerList = {
  layers: ['a', 'b', 'c', 'd'].map((sign) => ({ digest: digest(sign), size: 10, diffId: digest(sign) })),
  images: [
    { names: [{ pullSpec: 'there', referenceDigest: digest('1') }], layers: [0] },
    { names: [{ pullSpec: 'missing', referenceDigest: digest('2') }], layers: [0, 1, 2, 3] },
  ],
};
const content: StoredContent = { blobs: new Set([digest('b')]), snapshots: new Set([digest('a')]), partial: new Map([[digest('c'), 4]]) };

const store: ImageStore = {
  description: 'memory',
  runtime: 'containerd 2.1',
  findsImages: true,
  fetchedBy: 'puller',
  findLoss: async ({ name }) => (name.pullSpec === 'there' ? undefined : 'it is not there'),
  digestsOf: async () => [],
  pull: async () => expect.fail('an inspection pulls nothing'),
  usage: async () => ({ path: '/store', sizeBytes: 100, usedBytes: 40, availableBytes: 60 }),
  stored: async () => content,
  layerBytes: async () => new Map(),
  async [Symbol.asyncDispose]() {},
};

const inspect = (openStore: () => Promise<ImageStore> = async () => store) =>
  inspectNode({ specDir: folder, nodeName: 'node-1', gcThresholdPercent: async () => 85, openStore, signal: new AbortController().signal });
const put = (bytes: Buffer) => writeFile(join(folder, LAYER_LIST_KEY), bytes);

test('a node answers a bit a layer, with what is there in part, its runtime and its space', async () => {
  await put(gzipSync(JSON.stringify(list)));
  const answer = await inspect();
  expect(answer).toMatchObject({
    runtime: 'containerd 2.1',
    node: 'node-1',
    partial: [[2, 4]],
    space: { sizeBytes: 100, usedBytes: 40, availableBytes: 60, thresholdPercent: 85 },
  });
  if ('error' in answer) expect.fail(answer.error);
  expect(needsOf(list, answer)).toEqual({ missingBytes: 6 + 10, storedBytes: 24, packedBytes: 10, missingImages: 1 });
});

test.each([
  ['no list', async () => undefined, /layers\.json\.gz cannot be used: ENOENT/],
  ['a list that is none', () => put(gzipSync('{"layers":[{}],"images":[]}')), /layers\.json\.gz cannot be used: .*digest/s],
  ['bytes that are not packed', () => put(Buffer.from('hello')), /layers\.json\.gz cannot be used: incorrect header/],
  [
    'a list that unpacks to too much',
    () => put(gzipSync(Buffer.alloc(32 * 1024 * 1024))),
    /layers\.json\.gz cannot be used: Cannot create/,
  ],
])('%s is an answer too', async (_, prepare, error) => {
  await prepare();
  expect(await inspect()).toEqual({ error: expect.stringMatching(error) });
});

test('a runtime that is away is an answer too', async () => {
  await put(gzipSync(JSON.stringify(list)));
  const away = async () => Promise.reject(new StoreError(PullerErrorCode.storeUnreachable, 'no runtime answers', { transient: true }));
  expect(await inspect(away)).toEqual({ error: 'no runtime answers' });
});
