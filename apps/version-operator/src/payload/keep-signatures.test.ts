import { expect, test } from 'vitest';
import { withSignatures } from './keep-signatures.ts';

const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;
const keys = (data: object): string[] => Object.keys(data).map((key) => key.replace(/(\w)\1{63}/, '$1'));

test('signatures of a release replace those from before', () => {
  const before = withSignatures({}, digest('a'), [new Uint8Array([1]), new Uint8Array([2])]);
  const after = withSignatures(before, digest('a'), [new Uint8Array([3])]);
  expect(after).toEqual({ [`sha256-${'a'.repeat(64)}-1`]: 'Aw==' });
});

test('the releases verified last are kept', () => {
  let data: Record<string, string> = {};
  for (const digit of 'abcdefghijklmnopqrstuvwxyz') data = withSignatures(data, digest(digit), [new Uint8Array([1]), new Uint8Array([2])]);
  expect(keys(data)).toHaveLength(40);
  expect(keys(data)[0]).toBe('sha256-g-1');
  expect(keys(data).at(-1)).toBe('sha256-z-2');
});
