import { describe, expect, test } from 'vitest';
import { mergePatch, mergePatched } from './json.ts';

const rows: { name: string; before: unknown; after: unknown; want: unknown }[] = [
  { name: 'equal values', before: { a: 1, b: { c: [1, { d: 2 }] } }, after: { b: { c: [1, { d: 2 }] }, a: 1 }, want: undefined },
  { name: 'an added field', before: { a: 1 }, after: { a: 1, b: 2 }, want: { b: 2 } },
  {
    name: 'a changed field deep inside',
    before: { a: { b: { c: 1, d: 1 } } },
    after: { a: { b: { c: 2, d: 1 } } },
    want: { a: { b: { c: 2 } } },
  },
  { name: 'a field that is gone', before: { a: 1, b: 2 }, after: { a: 1 }, want: { b: null } },
  {
    name: 'fields that are gone deep inside',
    before: { m: { a: 1, b: { c: 1 } } },
    after: { m: { b: { d: 2 } } },
    want: { m: { a: null, b: { c: null, d: 2 } } },
  },
  { name: 'a field that is undefined is gone', before: { a: 1, b: 2 }, after: { a: 1, b: undefined }, want: { b: null } },
  { name: 'a field that was never there and is undefined', before: { a: 1 }, after: { a: 1, b: undefined }, want: undefined },
  { name: 'a list is replaced whole', before: { a: [1, 2] }, after: { a: [1, 3] }, want: { a: [1, 3] } },
  { name: 'a shorter list', before: { a: [1, 2] }, after: { a: [1] }, want: { a: [1] } },
  { name: 'an object in place of a text', before: { a: 'x' }, after: { a: { b: 1 } }, want: { a: { b: 1 } } },
  { name: 'a text in place of an object', before: { a: { b: 1 } }, after: { a: 1 }, want: { a: 1 } },
  { name: 'a list in place of an object', before: { a: { b: 1 } }, after: { a: [] }, want: { a: [] } },
  { name: 'an emptied map', before: { a: { b: 1 } }, after: { a: {} }, want: { a: { b: null } } },
  { name: 'an empty map where there was none', before: {}, after: { a: {} }, want: { a: {} } },
];

describe('mergePatch', () => {
  test.each(rows)('$name', ({ before, after, want }) => expect(mergePatch(before, after)).toEqual(want));

  test.each(rows)('$name: applied, it gives what was wanted', ({ before, after }) => {
    const patch = mergePatch(before, after);
    expect(patch === undefined ? before : mergePatched(before, patch)).toEqual(after);
  });
});
