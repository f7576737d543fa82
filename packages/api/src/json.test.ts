import { describe, expect, test } from 'vitest';
import { isSameJson, mergePatch, mergePatched, parseJson } from './json.ts';

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

describe('an integer that no double holds', () => {
  const text = '{"a":9007199254740993,"b":[-9223372036854775808,1],"c":"id 9007199254740993, as text","d":1e400,"e":0.30000000000000004}';

  test('is read and written as it is, and all else as ever', () => {
    expect(parseJson(text)).toEqual({
      a: 9007199254740993n,
      b: [-9223372036854775808n, 1],
      c: 'id 9007199254740993, as text',
      d: Number.POSITIVE_INFINITY,
      e: 0.30000000000000004,
    });
    expect(JSON.stringify(parseJson('{"a":[9007199254740993, 18446744073709551615],"b":{"c":-9007199254740993}}'))).toBe(
      '{"a":[9007199254740993,18446744073709551615],"b":{"c":-9007199254740993}}',
    );
  });

  test('is exact where it is the whole text', () => {
    expect([parseJson('9007199254740993'), parseJson(' -9007199254740993')]).toEqual([9007199254740993n, -9007199254740993n]);
  });

  test('differs from its neighbour, in comparisons and patches', () => {
    const [one, other] = [parseJson('{"a":9007199254740993}'), parseJson('{"a":9007199254740992}')];
    expect([isSameJson(one, parseJson('{"a":9007199254740993}')), isSameJson(one, other)]).toEqual([true, false]);
    expect(JSON.stringify(mergePatch(other, one))).toBe('{"a":9007199254740993}');
    expect(JSON.stringify(mergePatched(other, one))).toBe('{"a":9007199254740993}');
    expect(mergePatch(one, parseJson('{"a":9007199254740993}'))).toBeUndefined();
  });
});
