import { expect, test } from 'vitest';
import { Join, MAX_PARTIALS } from './messages.ts';
import { readPartials } from './peer-blobs.ts';

const digest = (index: number): string => `sha256:${String(index).padStart(64, '0')}`;
const join = (partials?: object) => ({ token: 'token', node: 'n1', isOpen: true, ...(partials && { partials }) });
const store = (partials: () => Promise<ReadonlyMap<string, number>>) => ({
  size: async () => undefined,
  read: () => expect.fail(),
  partials,
});

test('a node joins with what it has of the longest blobs, as many as a lead takes', async () => {
  const partials = await readPartials(
    store(async () => new Map(Array.from({ length: MAX_PARTIALS + 1 }, (_, index) => [digest(index), index]))),
  );
  expect(Join.safeParse(join(partials)).success).toBe(true);
  expect(Object.keys(partials ?? {})).toHaveLength(MAX_PARTIALS);
  expect(partials).not.toHaveProperty([digest(0)]);
  expect(Join.safeParse(join({ ...partials, [digest(0)]: 1 })).success).toBe(false);
});

test('a node says nothing of parts of blobs where its store does not say, as a puller of before', async () => {
  expect(await readPartials(store(() => Promise.reject(new Error('the runtime restarts'))))).toBeUndefined();
  expect(Join.safeParse(join()).success).toBe(true);
});

test.each([{ layer: 1 }, { [digest(1)]: -1 }, { [digest(1)]: 2 ** 51 }])('%j are no parts of blobs', (partials) => {
  expect(Join.safeParse(join(partials)).success).toBe(false);
});
