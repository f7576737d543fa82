import { describe, expect, test } from 'vitest';
import { parseVersion } from '../semantic-version.ts';
import { type Channel, headOfChannel, isInRange } from './channel-head.ts';

type ChannelEntry = Channel['entries'][number];

const head = (entries: ChannelEntry[], versions: Record<string, string> = {}): string =>
  headOfChannel({ package: 'p', name: 'stable', entries }, (bundle) => versions[bundle]).name;

test.each<[string, ChannelEntry[], string, Record<string, string>?]>([
  ['the only entry', [{ name: 'a' }], 'a'],
  ['the one nobody replaces, in any order', [{ name: 'b', replaces: 'a' }, { name: 'c', replaces: 'b' }, { name: 'a' }], 'c'],
  ['the one nobody skips', [{ name: 'a' }, { name: 'b' }, { name: 'c', replaces: 'a', skips: ['b'] }], 'c'],
  ['an entry that replaces one outside the channel', [{ name: 'b', replaces: 'gone' }], 'b'],
  [
    'the one whose skipRange holds the other heads',
    [{ name: 'a' }, { name: 'b' }, { name: 'c', skipRange: '>=1.0.0 <3.0.0' }],
    'c',
    { a: '1.0.0', b: '2.0.0', c: '3.0.0' },
  ],
  [
    'a skipRange does not take the head that replaces leaves',
    [
      { name: 'old', skipRange: '>=1.0.0 <9.0.0' },
      { name: 'new', replaces: 'old' },
    ],
    'new',
    { old: '1.0.0', new: '2.0.0' },
  ],
])('%s', (_, entries, wanted, versions) => {
  expect(head(entries, versions)).toBe(wanted);
});

describe('refused, naming package, channel and entries', () => {
  test.each<[string, ChannelEntry[], RegExp, Record<string, string>?]>([
    ['no entries', [], /no entries/],
    ['two heads', [{ name: 'a' }, { name: 'b' }], /several heads: a, b/],
    [
      'a cycle',
      [
        { name: 'a', replaces: 'c' },
        { name: 'b', replaces: 'a' },
        { name: 'c', replaces: 'b' },
      ],
      /cycle \(a, c, b, a\)/,
    ],
    ['an entry that replaces itself', [{ name: 'a', replaces: 'a' }], /cycle \(a, a\)/],
    [
      'a cycle closed by skips',
      [
        { name: 'a', skips: ['b'] },
        { name: 'b', skips: ['a'] },
      ],
      /cycle \(a, b\)/,
    ],
    [
      'heads whose skipRanges hold each other',
      [
        { name: 'a', skipRange: '>=1.0.0' },
        { name: 'b', skipRange: '>=1.0.0' },
      ],
      /several heads: a, b/,
      { a: '1.0.0', b: '2.0.0' },
    ],
    ['heads of unknown version', [{ name: 'a' }, { name: 'b', skipRange: '<2.0.0' }], /several heads: a, b/, { a: 'rubbish' }],
    ['many heads', Array.from({ length: 20 }, (_, i) => ({ name: `e${i}` })), /and 10 more/],
  ])('%s', (_, entries, message, versions) => {
    const refused = (): string => head(entries, versions);
    expect(refused).toThrow(expect.objectContaining({ code: 'FLOTILLA_CATALOGUE_CHANNEL_HEAD', message: expect.stringMatching(message) }));
    expect(refused).toThrow(/channel "stable" of package "p"/);
  });
});

test('a chain of 20,000 entries takes no recursion', () => {
  const entries = Array.from({ length: 20_000 }, (_, i) => ({ name: `v${i}`, replaces: `v${i - 1}` }));
  expect(head(entries)).toBe('v19999');
});

test.each([
  ['1.2.0', '>=1.0.0 <1.3.0', true],
  ['1.3.0', '>=1.0.0 <1.3.0', false],
  ['1.2.0', '>= 1.0.0 < 1.3.0', true],
  ['3.0.0', '<1.0.0 || >2.0.0', true],
  ['1.5.0', '<1.0.0 || >2.0.0', false],
  ['1.5.0', '>1.0.0 !1.5.0', false],
  ['1.5.0', '=1.5.0', true],
  ['1.5.0', '1.5.0', true],
  ['1.5.0', '', false],
  ['1.5.0', 'rubbish', false],
  ['1.5.0', '!1.5.0', false],
  ['1.5.0-rc.1', '<1.5.0', true],
  ['1.5.0', '==1.5.0', true],
  ['1.5.0', '>=1.0', false],
  ['1.5.0', '^1.0.0', false],
  ['1.5.0', '~1.5.0', false],
  ['1.5.0', `${'>=1.0.0 '.repeat(10_000)}`, false],
])('%s in %s: %s', (text, range, wanted) => {
  const version = parseVersion(text);
  expect(version && isInRange(version, range)).toBe(wanted);
});

test.each(['', 'v1.0.0', '1.0', '1.0.0.0', 'a.b.c', `1.0.0-${'a'.repeat(1000)}`])('%j is no version', (text) => {
  expect(parseVersion(text)).toBeUndefined();
});
