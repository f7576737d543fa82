import { measure } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { readNamePattern } from './name-pattern.ts';

test.each([
  ['non-serving-*', 'non-serving-1', true],
  ['non-serving-*', 'serving-1', false],
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['*', 'a/b', false],
  ['*/*', 'a/b', true],
  ['a*/b', 'axx/b', true],
  ['*b', 'abcb', true],
  ['a*b*c', 'abxbxc', true],
  ['a*b*c', 'abxbx', false],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['a?c', 'a/c', false],
  ['a?c', 'a🚢c', true],
  ['[a-c]x', 'bx', true],
  ['[^a-c]x', 'bx', false],
  ['[^a-c]x', 'dx', true],
  ['[^^]', '^', false],
  ['[a^]', '^', true],
  ['[\\]\\-]', ']', true],
  ['[\\]\\-]', '-', true],
  ['[+-\\-]', ',', true],
  ['a\\*', 'a*', true],
  ['a\\*', 'ab', false],
  ['a.c', 'abc', false],
  ['a-b]', 'a-b]', true],
])('%j matches %j: %s', (pattern, text, want) => expect(readNamePattern(pattern)?.(text)).toBe(want));

test.each(['[', '[]', '[^]', '[]a]', '[a', 'a\\', '[a\\', '[a-]', '[-a]', '[c-a]'])('%j is malformed', (pattern) =>
  expect(readNamePattern(pattern)).toBeUndefined(),
);

// A regular expression of the same meaning would not end on the last of them.
test.each([
  ['stars that all could match', `${'*a'.repeat(500)}b`, 'a'.repeat(2_000)],
  ['sets behind stars', `${'*[a-z]'.repeat(500)}!`, 'a'.repeat(2_000)],
  ['brackets that nothing closes', '['.repeat(50_000), ''],
])('%s take no time', async (_, pattern, text) => {
  let matched: boolean | undefined;
  const { pauseMs } = await measure(() => {
    matched = readNamePattern(pattern)?.(text) ?? false;
  });
  expect(matched).toBe(false);
  expect(pauseMs).toBeLessThan(1_000);
});
