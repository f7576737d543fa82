import { defineTarget } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { readNamePattern } from './name-pattern.ts';

const PIECES = ['*', '?', 'a', 'b', '-', ']', '\\a', '\\*', '[a-b]', '[^a]'] as const;
/** Builds the same pattern as a regular expression, without slashes, which the table above covers. */
const asExpression = (pieces: readonly string[]): RegExp => {
  const meaning: Readonly<Record<string, string>> = { '*': '.*', '?': '.', ']': '\\]', '\\a': 'a' };
  return new RegExp(`^${pieces.map((piece) => meaning[piece] ?? piece).join('')}$`);
};
const target = defineTarget('patterns of names', {
  make: (random) => ({
    pieces: random.list(8, () => random.pick(PIECES)),
    text: random.list(8, () => random.pick(['a', 'b', '-', ']', '*'])).join(''),
  }),
  run({ pieces, text }) {
    expect(readNamePattern(pieces.join(''))?.(text)).toBe(asExpression(pieces).test(text));
  },
});

test('match what a regular expression of the same meaning does', async () => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
