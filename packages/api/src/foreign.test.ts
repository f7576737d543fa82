import { expect, test } from 'vitest';
import { z } from 'zod';
import { foreign } from './foreign.ts';

const Inner = z.looseObject({ name: z.string(), note: z.string().optional() });
const Schema = foreign(
  z.looseObject({
    list: z.array(Inner).optional(),
    labels: z.record(z.string(), z.string()).optional(),
    either: z.union([z.object({ a: z.string().optional(), b: z.number() }), z.string()]).optional(),
    words: z.array(z.string()).default([]),
    kept: z.unknown().optional(),
    taken: z.string().nullable().optional(),
  }),
);

test.each([
  { name: 'a field', given: { list: null }, want: { words: [] } },
  { name: 'a field with a default', given: { words: null }, want: { words: [] } },
  { name: 'a field of an entry', given: { list: [{ name: 'x', note: null }] }, want: { list: [{ name: 'x' }], words: [] } },
  { name: 'a value of a map', given: { labels: { a: null, b: 'c' } }, want: { labels: { b: 'c' }, words: [] } },
  { name: 'an entry of a list, which is its zero value', given: { words: ['a', null] }, want: { words: ['a', ''] } },
  { name: 'a field within a union', given: { either: { a: null, b: 1 } }, want: { either: { b: 1 }, words: [] } },
  { name: 'several at once', given: { list: null, labels: null, words: null }, want: { words: [] } },
])('null is absent: $name', ({ given, want }) => {
  expect(Schema.parse(given)).toEqual(want);
});

test('a null that the schema takes stays, and so does one that it does not know', () => {
  const given = { kept: { deep: null }, taken: null, other: null, list: [{ name: 'x', note: null, more: [null] }] };
  expect(Schema.parse(given)).toEqual({ ...given, list: [{ name: 'x', more: [null] }], words: [] });
});

test('what is wrong is named as before, and the document stays as it was', () => {
  const given = { list: [{ name: 7, note: null }] };
  const issues = Schema.safeParse(given).error?.issues;
  expect(issues?.map(({ path, message }) => [path.join('.'), message])).toEqual([
    ['list.0.name', 'Invalid input: expected string, received number'],
  ]);
  expect(given).toEqual({ list: [{ name: 7, note: null }] });
});

test('null in place of what is required is told as absent', () => {
  expect(Schema.safeParse({ list: [{ name: null }] }).error?.issues[0]?.message).toBe('Invalid input: expected string, received undefined');
  expect(Schema.safeParse(null).success).toBe(false);
});

test('a field of a larger schema keeps its path', () => {
  const outer = z.object({ part: Schema });
  expect(outer.safeParse({ part: { words: 7 } }).error?.issues[0]?.path).toEqual(['part', 'words']);
});
