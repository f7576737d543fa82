import { KubeObject } from '@flotilla/api';
import { type Client, createLogger } from '@flotilla/runtime';
import { beforeEach, expect, test } from 'vitest';
import { Wanted } from '../payload/wanted.ts';
import { Deletions } from './deletions.ts';

type Stored = KubeObject & { data?: Readonly<Record<string, string>> };

/** The one ConfigMap of a cluster, and the end of each write to it. */
let stored: Stored | undefined;
let refuses: Error | undefined;
let isAway = false;
const logger = createLogger({ name: 'test', level: 'silent' });
const client = {
  get: async () => {
    if (isAway) throw new Error('away');
    return stored;
  },
  apply: async (_: unknown, object: Stored) => {
    if (refuses) throw refuses;
    stored = object;
    return object;
  },
} as unknown as Client;

const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old', namespace: 'shop' } };
const old = new Wanted({
  ...{ group: '', version: 'v1', kind: 'ConfigMap', ...object.metadata, annotations: undefined },
  ...{ object, raw: JSON.stringify(object), file: '0000_50_shop_00_old.yaml', line: 1 },
});

beforeEach(() => {
  stored = undefined;
  refuses = undefined;
  isAway = false;
});

/** An operator, or one that was started after it. */
const started = (isObserving = false) => new Deletions(client, { isObserving, logger });

test('what an update deleted is remembered over a restart', async () => {
  const before = started();
  await before.begin('b');
  expect(await before.has(old)).toBe(false);
  await before.record(old);
  const after = started();
  await after.begin('b');
  expect(await after.has(old)).toBe(true);
});

test.each<{ name: string; next: (running: Deletions) => Deletions }>([
  { name: 'one process', next: (running) => running },
  { name: 'a process for each release', next: () => started() },
])('an update to a release that the cluster came back from deletes again: $name', async ({ next }) => {
  let deletions = started();
  await deletions.begin('b');
  await deletions.record(old);
  deletions = next(deletions);
  await deletions.begin('a');
  expect(await deletions.has(old)).toBe(false);
  deletions = next(deletions);
  await deletions.begin('b');
  expect(await deletions.has(old)).toBe(false);
});

test('a record that is refused holds nothing up, and is written later', async () => {
  const before = started();
  await before.begin('b');
  refuses = new Error('away');
  await before.record(old);
  expect(await before.has(old)).toBe(true);
  expect(stored).toBeUndefined();
  refuses = undefined;
  await before.begin('b');
  expect(stored?.data?.deleted).toContain('shop/old');
});

test('a release that the cluster came back from deletes again, though its record could not be forgotten in between', async () => {
  const deletions = started();
  await deletions.begin('b');
  await deletions.record(old);
  refuses = new Error('away');
  await deletions.begin('a');
  await deletions.begin('b');
  expect(await deletions.has(old)).toBe(false);
});

test('nobody knows what was deleted while the record cannot be read, and nothing else waits for it', async () => {
  const deletions = started();
  isAway = true;
  await deletions.begin('b');
  await expect(deletions.has(old)).rejects.toThrow('away');
  isAway = false;
  expect(await deletions.has(old)).toBe(false);
});

test('a cluster that nothing was deleted in gets no record', async () => {
  const deletions = started();
  await deletions.begin('a');
  await deletions.begin('b');
  expect(stored).toBeUndefined();
});

test('whoever only observes leaves the record of another release as it is', async () => {
  const before = started();
  await before.begin('b');
  await before.record(old);
  const kept = KubeObject.loose().parse(stored);
  const observer = started(true);
  await observer.begin('a');
  expect(await observer.has(old)).toBe(false);
  expect(stored).toEqual(kept);
});
