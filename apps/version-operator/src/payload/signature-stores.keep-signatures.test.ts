import { KubeObject } from '@flotilla/api';
import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { keepSignatures, type SignatureConfigMap } from './signature-stores.ts';

type Stored = ReturnType<typeof SignatureConfigMap.schema.parse>;

const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;

/** A cluster that stores one ConfigMap, and sorts the keys of its data as servers do. */
function cluster() {
  let stored: Stored | undefined;
  const store = (object: KubeObject): Stored => {
    const { binaryData = {}, ...rest } = object as Stored;
    stored = { ...rest, binaryData: Object.fromEntries(Object.entries(binaryData ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) };
    return stored;
  };
  const client = {
    get: async () => stored,
    create: async (_: unknown, object: KubeObject) => store(object),
    replace: async (_: unknown, object: KubeObject) => store(object),
  } as unknown as Pick<Client, 'get' | 'create' | 'replace'>;
  const keep = (digit: string, ...signatures: number[]): Promise<void> =>
    keepSignatures(
      client,
      digest(digit),
      signatures.map((byte) => new Uint8Array([byte])),
      new AbortController().signal,
    );
  const data = () => stored?.binaryData ?? {};
  return { keep, store, data, releases: () => new Set(Object.keys(data()).map((key) => key.charAt('sha256-'.length))) };
}

test('signatures of a release replace those from before', async () => {
  const { keep, data } = cluster();
  await keep('a', 1, 2);
  await keep('a', 3);
  expect(data()).toEqual({ [`sha256-${'a'.repeat(64)}-1`]: 'Aw==' });
});

test.each([
  { name: 'in the order of their digests', digits: 'abcdefghijklmnopqrstuvwxyz' },
  { name: 'in another order', digits: 'zyxwvutsrqponmlkjihgfedcba' },
])('the releases verified last are kept, $name', async ({ digits }) => {
  const { keep, releases } = cluster();
  for (const digit of digits) await keep(digit, 1, 2);
  expect(releases()).toEqual(new Set(digits.slice(-20)));
});

test('a release that is verified again counts as verified last', async () => {
  const { keep, releases } = cluster();
  for (const digit of 'abcdefghijklmnopqrst') await keep(digit, 1);
  await keep('a', 1);
  await keep('u', 1);
  expect(releases()).toEqual(new Set('acdefghijklmnopqrstu'));
});

test('releases whose order nobody knows go first', async () => {
  const { keep, store, releases } = cluster();
  const old = Object.fromEntries(Array.from('vwxyz', (digit) => [`sha256-${digit.repeat(64)}-1`, 'AQ==']));
  store(KubeObject.parse({ metadata: { name: 'signatures-managed' }, binaryData: old }));
  for (const digit of 'abcdefghijklmnopqrst') await keep(digit, 1);
  expect(releases()).toEqual(new Set('abcdefghijklmnopqrst'));
});
