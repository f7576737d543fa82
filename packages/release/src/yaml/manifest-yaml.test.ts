import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import { readManifestYaml } from './manifest-yaml.ts';

const read = (text: string): unknown => JSON.parse(canonicalJson(readManifestYaml(text).value));
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
  expect(canonicalJson(readManifestYaml(lines('"10": 1', '"9": 2', 'a: 9223372036854775807', 'b: <&>', 'c: -0.0')).value)).toBe(
    '{"10":1,"9":2,"a":9223372036854775807,"b":"\\u003c\\u0026\\u003e","c":-0}',
  );
});

describe('reads what is rare', () => {
  test.each<{ name: string; text: string; want: unknown }>([
    { name: 'an anchor', text: lines('a: &x 1'), want: { a: 1 } },
    { name: 'an alias', text: lines('a: &x [1]', 'b: *x', 'c: &x 2', 'd: *x'), want: { a: [1], b: [1], c: 2, d: 2 } },
    { name: 'an alias as a key', text: lines('a: &x b', '*x : 1'), want: { a: 'b', b: 1 } },
    { name: 'a tag', text: lines('a: !!str 1', 'b: !!int "1"', 'c: !own x', 'd: !!map {}'), want: { a: '1', b: 1, c: 'x', d: {} } },
    { name: 'a merge', text: lines('<<: {a: 1, b: 1}', 'a: 2', "'<<': 3"), want: { a: 2, b: 1, '<<': 3 } },
    { name: 'merges of several', text: lines('<<: [{a: 1}, {a: 2, b: 2}]'), want: { a: 1, b: 2 } },
    { name: 'a complex key', text: lines('? a', ': b'), want: { a: 'b' } },
    { name: 'a directive', text: lines('%YAML 1.2', '---', 'a: 1'), want: { a: 1 } },
    { name: 'the end of a document', text: lines('a: 1', '...'), want: { a: 1 } },
    { name: 'an address in a flow collection', text: lines('a: [http://x]'), want: { a: ['http://x'] } },
    { name: 'a line that is indented too deep behind a comment', text: lines('a: # x', '  b: 2'), want: { a: { b: 2 } } },
  ])('$name', ({ text, want }) => expect(read(text)).toEqual(want));
});

describe('refuses', () => {
  const bomb = Array.from({ length: 9 }, (_, level) => `a${level}: &a${level} [${'*a'.concat(String(level - 1), ', ').repeat(9)}]`);
  test.each<{ name: string; text: string; says: RegExp }>([
    { name: 'an alias of nothing', text: lines('a: *x'), says: /the alias "x" stands for nothing/ },
    { name: 'an alias of what it is part of', text: lines('a: &x [*x]'), says: /the alias "x" stands for nothing/ },
    { name: 'an alias bomb', text: lines('a: &a0 [x]', ...bomb.slice(1)), says: /stand for more than 5000 values; write it plainly/ },
    { name: 'a tag of what JSON has not', text: lines('a: !!binary YQ=='), says: /the tag "!!binary", which JSON has not/ },
    { name: 'a merge of a text', text: lines('<<: a'), says: /merges what is no object/ },
    { name: 'a key that is no text', text: lines('[a]: 1'), says: /a key that is no text/ },
    { name: 'a key that is null', text: lines('~: 1'), says: /a key that is no text/ },
    { name: 'a tab as indentation', text: lines('a:', '\tb: 1'), says: /in line 2/ },
    { name: 'a key in a text', text: lines('a: b: c'), says: /in line 1/ },
    { name: 'an item behind a key', text: lines('a: - b'), says: /in line 1/ },
    { name: 'a line that is indented too deep', text: lines('a: 1 # x', '  b: 2'), says: /in line 2/ },
    { name: 'a line that is indented too little', text: lines('a:', '    b: 1', '  c: 2'), says: /in line 3/ },
    { name: 'a text behind a value', text: lines('a: "x" y'), says: /in line 1/ },
    { name: 'a quote without an end', text: lines('a: "x'), says: /in line 2/ },
    { name: 'a bracket without an end', text: lines('a: [1'), says: /in line 2/ },
    { name: 'an escape that is none', text: lines('a: "\\q"'), says: /in line 1/ },
    {
      name: 'more than a hundred levels',
      text: lines(Array.from({ length: 102 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')),
      says: /100/,
    },
    { name: 'more than a hundred levels in one line', text: lines(`a: ${'['.repeat(102)}`), says: /100/ },
    { name: 'very many lines that are indented too little', text: `a:\n  b: "x\n${'y\n'.repeat(200_000)}"`, says: /deficient indentation/ },
  ])('$name', ({ text, says }) => expect(() => readManifestYaml(text)).toThrow(says));
});

test('the line of what is wrong counts from the first one', () =>
  expect(() => readManifestYaml(lines('a: 1', 'b: ]'), 10)).toThrow(/in line 11/));

test('doubled keys are told with their lines', () =>
  expect(readManifestYaml(lines('a: 1', 'b:', '  c: "x', ' y"', '  c: 2', 'a: 3', 'd: {e: 1, e: 2}')).doubledKeys).toEqual([
    { key: 'c', line: 4 },
    { key: 'a', line: 5 },
    { key: 'e', line: 6 },
  ]));
