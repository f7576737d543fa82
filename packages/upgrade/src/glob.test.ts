import { expect, test } from 'vitest';
import { compileGlob } from './glob.ts';

test.each([
  ['non-serving-*', 'non-serving-1', true],
  ['non-serving-*', 'serving-1', false],
  ['*', 'a/b', false],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['[a-c]x', 'bx', true],
  ['[^a-c]x', 'bx', false],
  ['a\\*', 'a*', true],
  ['a\\*', 'ab', false],
  ['a.c', 'abc', false],
  ['a-b', 'a-b', true],
])('%j matches %j: %s', (pattern, text, want) => expect(compileGlob(pattern)?.test(text)).toBe(want));

test.each(['[', '[]', '[a', 'a\\', '[a-]', '[c-a]'])('%j is malformed', (pattern) => expect(compileGlob(pattern)).toBeUndefined());
