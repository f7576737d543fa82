import { expect, test } from 'vitest';
import { findDropped, isAllDropped } from './dropped-fields.ts';

const sent = { state: 'a', ours: ['x'], part: { state: 'b', ours: { cluster: 'y' }, absent: undefined } };
const stored = { state: 'a', part: { state: 'b' } };

test('kept fields and fields that were not sent are not dropped', () => {
  expect(findDropped(sent, stored)).toEqual({ ours: true, part: { ours: true } });
  expect(findDropped(stored, stored)).toEqual({});
});

test('a dropped field stays known while it is not sent, until the server keeps it', () => {
  const known = findDropped(sent, stored);
  expect(findDropped(stored, stored, known)).toEqual(known);
  expect(findDropped({ state: 'a' }, { state: 'a' }, known)).toEqual(known);
  expect(findDropped(sent, { ...sent, part: { state: 'b' } }, known)).toEqual({ part: { ours: true } });
});

test.each([
  { name: 'a dropped field with another value', patch: { ours: ['z'] }, want: true },
  { name: 'dropped fields of a part', patch: { part: { ours: { other: 'z' } } }, want: true },
  { name: 'something else beside a dropped field', patch: { ours: ['z'], state: 'c' }, want: false },
  { name: 'something else inside a part', patch: { part: { ours: {}, state: 'c' } }, want: false },
  { name: 'a part that goes', patch: { part: null }, want: false },
])('a patch of $name: nothing to send $want', ({ patch, want }) => expect(isAllDropped(patch, findDropped(sent, stored))).toBe(want));
