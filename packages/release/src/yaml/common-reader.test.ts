import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import { readCommonYaml } from './common-reader.ts';
import { UncommonYaml } from './cursor.ts';

const read = (text: string): unknown => JSON.parse(canonicalJson(readCommonYaml(text)));
const lines = (...of: string[]): string => `${of.join('\n')}\n`;

describe('reads', () => {
  test.each<{ name: string; text: string; want: unknown }>([
    { name: 'nothing', text: lines('', '# a comment'), want: null },
    {
      name: 'mappings in mappings',
      text: lines('a:', '  b: 1', '  c:', '    d: x', 'e: null'),
      want: { a: { b: 1, c: { d: 'x' } }, e: null },
    },
    { name: 'a key without a value', text: lines('a:', 'b: # nothing', 'c: 1'), want: { a: null, b: null, c: 1 } },
    { name: 'a sequence below its key', text: lines('a:', '- 1', '- 2', 'b: 3'), want: { a: [1, 2], b: 3 } },
    {
      name: 'a sequence deeper than its key',
      text: lines('a:', '  - b: 1', '    c: 2', '  -', '    d: 3'),
      want: { a: [{ b: 1, c: 2 }, { d: 3 }] },
    },
    { name: 'sequences in sequences', text: lines('- - 1', '  - 2', '-', '- x'), want: [[1, 2], null, 'x'] },
    { name: 'comments and blank lines anywhere', text: lines('# c', 'a: 1 # one', '', '  # deep', 'b: x#y'), want: { a: 1, b: 'x#y' } },
    { name: 'colons within texts', text: lines('a: b:c', 'http://x: 1', 'c: 12:30'), want: { a: 'b:c', 'http://x': 1, c: '12:30' } },
    { name: 'a plain text over lines', text: lines('a: one', '  two', '', '  three', 'b: 1'), want: { a: 'one two\nthree', b: 1 } },
    {
      name: 'quoted texts',
      text: lines(`a: 'it''s'`, `b: "x\\n\\u0041\\x42\\"\\/"`, `"c d": ''`),
      want: { a: "it's", b: 'x\nAB"/', 'c d': '' },
    },
    { name: 'a quoted text over lines', text: lines('a: "one ', '  two', '', '  three\\', '   four"'), want: { a: 'one two\nthreefour' } },
    {
      name: 'a quoted text that is indented less than its key',
      text: lines('a:', '  b:', `    c: 'one`, ` two'`, '  d: 1'),
      want: { a: { b: { c: 'one two' }, d: 1 } },
    },
    {
      name: 'a literal text',
      text: lines('a: |', '  one', '    two', '', '  three', '', 'b: 1'),
      want: { a: 'one\n  two\n\nthree\n', b: 1 },
    },
    { name: 'a literal text without its last break', text: lines('a: |-', '  one', '', ''), want: { a: 'one' } },
    { name: 'a literal text with all its breaks', text: lines('a: |+', '  one', '', ''), want: { a: 'one\n\n\n' } },
    { name: 'a literal text whose indentation is given', text: lines('a: |2', '    one', '  two'), want: { a: '  one\ntwo\n' } },
    { name: 'an empty literal text', text: lines('a: |', 'b: 1'), want: { a: '', b: 1 } },
    { name: 'a literal text in a sequence', text: lines('a:', '- |', '  one', '- two'), want: { a: ['one\n', 'two'] } },
    {
      name: 'a folded text',
      text: lines('a: >', '  one', '  two', '', '  three', '    four', '  five'),
      want: { a: 'one two\nthree\n  four\nfive\n' },
    },
    {
      name: 'flow collections',
      text: lines(`a: [1, "x", {b: c, 'd': []}, ]`, 'e: {}', 'f: {', '  "g": 1,', '  "h":2', '}'),
      want: { a: [1, 'x', { b: 'c', d: [] }], e: {}, f: { g: 1, h: 2 } },
    },
    { name: 'of a doubled key the last value', text: lines('a: 1', 'b: 2', 'a: 3'), want: { a: 3, b: 2 } },
    { name: 'keys that are no texts as texts', text: lines('yes: 1', '007: 2'), want: { true: 1, '7': 2 } },
    { name: 'a key that JavaScript has a meaning for', text: lines('__proto__: 1'), want: JSON.parse('{"__proto__":1}') },
    { name: 'a word that is a sign', text: lines('enum:', '- =', '- "*"', '- -x'), want: { enum: ['=', '*', '-x'] } },
    { name: 'a scalar alone', text: lines('x'), want: 'x' },
  ])('$name', ({ text, want }) => expect(read(text)).toEqual(want));
});

test('JSON is written with keys in the order of their bytes, digits kept and signs of HTML escaped', () => {
  expect(canonicalJson(readCommonYaml(lines('"10": 1', '"9": 2', 'a: 9223372036854775807', 'b: <&>', 'c: -0.0')))).toBe(
    '{"10":1,"9":2,"a":9223372036854775807,"b":"\\u003c\\u0026\\u003e","c":-0}',
  );
});

describe('leaves to the full reader', () => {
  test.each<{ name: string; text: string }>([
    { name: 'an anchor', text: lines('a: &x 1') },
    { name: 'an alias', text: lines('a: *x') },
    { name: 'a tag', text: lines('a: !!str 1') },
    { name: 'a merge', text: lines('<<: {a: 1}') },
    { name: 'a complex key', text: lines('? a', ': b') },
    { name: 'a tab as indentation', text: lines('a:', '\tb: 1') },
    { name: 'a directive', text: lines('%YAML 1.2', 'a: 1') },
    { name: 'the end of a document', text: lines('a: 1', '...') },
    { name: 'a key in a text', text: lines('a: b: c') },
    { name: 'an item behind a key', text: lines('a: - b') },
    { name: 'a line that is indented too deep', text: lines('a: 1 # x', '  b: 2') },
    { name: 'a line that is indented too little', text: lines('a:', '    b: 1', '  c: 2') },
    { name: 'a text behind a value', text: lines('a: "x" y') },
    { name: 'a quote without an end', text: lines('a: "x') },
    { name: 'a bracket without an end', text: lines('a: [1') },
    { name: 'an escape that is none', text: lines('a: "\\q"') },
    { name: 'an address in a flow collection', text: lines('a: [http://x]') },
    { name: 'more than a hundred levels', text: lines(Array.from({ length: 102 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')) },
    { name: 'more than a hundred levels in one line', text: lines(`a: ${'['.repeat(102)}`) },
  ])('$name', ({ text }) => expect(() => readCommonYaml(text)).toThrow(UncommonYaml));
});
