import { KubeObject } from '@flotilla/api';
import type { Client } from '@flotilla/runtime';
import { beforeEach, expect, test } from 'vitest';
import { Wanted } from '../payload/wanted.ts';
import { Deletions } from './deletions.ts';

type Stored = KubeObject & { data?: Readonly<Record<string, string>> };

/** The one ConfigMap of a cluster, and the end of each write to it. */
let stored: Stored | undefined;
let refuses: Error | undefined;
const client = {
  get: async () => stored,
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
});

/** An operator, or one that was started after it. */
const started = (isObserving = false) => new Deletions(client, { isObserving });

test('what an update deleted is remembered over a restart', async () => {
  const before = started();
  await before.read('b');
  expect(before.has(old)).toBe(false);
  await before.record(old);
  const after = started();
  await after.read('b');
  expect(after.has(old)).toBe(true);
});

test.each<{ name: string; next: (running: Deletions) => Deletions }>([
  { name: 'one process', next: (running) => running },
  { name: 'a process for each release', next: () => started() },
])('an update to a release that the cluster came back from deletes again: $name', async ({ next }) => {
  let deletions = started();
  await deletions.read('b');
  await deletions.record(old);
  deletions = next(deletions);
  await deletions.read('a');
  expect(deletions.has(old)).toBe(false);
  deletions = next(deletions);
  await deletions.read('b');
  expect(deletions.has(old)).toBe(false);
});

test('nothing is applied before the record of another release is gone', async () => {
  const before = started();
  await before.read('b');
  await before.record(old);
  refuses = new Error('away');
  await expect(before.read('a')).rejects.toThrow('away');
  refuses = undefined;
  await before.read('a');
  expect(stored?.data).toEqual({ release: 'a', deleted: '[]' });
});

test('a cluster that nothing was deleted in gets no record', async () => {
  const deletions = started();
  await deletions.read('a');
  await deletions.read('b');
  expect(stored).toBeUndefined();
});

test('whoever only observes leaves the record of another release as it is', async () => {
  const before = started();
  await before.read('b');
  await before.record(old);
  const kept = KubeObject.loose().parse(stored);
  const observer = started(true);
  await observer.read('a');
  expect(observer.has(old)).toBe(false);
  expect(stored).toEqual(kept);
});
