import { expect, test } from 'vitest';
import { readGoExpression } from './schema.ts';

const matches = (pattern: string, text: string) => {
  const read = readGoExpression(pattern);
  return typeof read === 'string' ? read : read.test(text);
};

test.each([
  ['^example-.+$', 'example-1', true],
  ['^example-.+$', 'example-', false],
  ['example', 'my-example-1', true],
  ['', 'anything', true],
  ['^(a|bc)*$', 'abcbca', true],
  ['^(a|bc)*$', 'abcb', false],
  ['^a{2,3}$', 'aa', true],
  ['^a{2,3}$', 'aaaa', false],
  ['^a{2,}$', 'aaaaa', true],
  ['^a{,2}$', 'a{,2}', true],
  ['^[[:alpha:]]+-[^[:alpha:]]$', 'team-1', true],
  ['^[]a-c]+$', ']abc', true],
  ['^[a\\-z]+$', 'a-z', true],
  ['^\\pL+$', 'äé', true],
  ['^\\p{Greek}$', 'λ', true],
  ['^\\P{Greek}$', 'λ', false],
  ['(?i)^TEAM-[A-Z]$', 'team-x', true],
  ['^(?i:T)eam$', 'team', true],
  ['^(?i:T)EAM$', 'team', false],
  ['(?-s)^a.b$', 'a\nb', false],
  ['(?s)^a.b$', 'a\nb', true],
  ['(?m)^b$', 'a\nb', true],
  ['^b$', 'a\nb', false],
  ['\\bop\\b', 'my-op-1', true],
  ['\\bop\\b', 'top', false],
  ['\\Aa\\z', 'a', true],
  ['^\\Qa.b\\E+$', 'a.bb', true],
  ['^\\x41\\x{42}\\103$', 'ABC', true],
  ['^(?P<name>a)(?<other>b)$', 'ab', true],
  ['^a+?b??c*?$', 'aac', true],
  ['^\\s$', '\v', false],
  ['^(?)a$', 'a', true],
] as const)('%j and %j: %s, as Go has it', (pattern, text, want) => expect(matches(pattern, text)).toBe(want));

test.each([
  ['(', 'missing closing ): `(`'],
  ['a)', 'unexpected ): `a)`'],
  ['[a', 'missing closing ]: `[a`'],
  ['*a', 'missing argument to repetition operator: `*`'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['a{1001}', 'invalid repeat count: `{1001}`'],
  ['(a{100}){100}', 'invalid repeat count: `{100}`'],
  ['a{3,2}', 'invalid repeat count: `{3,2}`'],
  ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(?!a)', 'invalid or unsupported Perl syntax: `(?!`'],
  ['(?<=a)', 'invalid named capture: `(?<=a)`'],
  ['(a)\\1', 'invalid escape sequence: `\\1`'],
  ['\\Z', 'invalid escape sequence: `\\Z`'],
  ['\\', 'trailing backslash at end of expression'],
  ['[z-a]', 'invalid character class range: `z-a`'],
  ['[[:nope:]]', 'invalid character class range: `[:nope:]`'],
  ['\\p{Nope}', 'invalid character class range: `\\p{Nope}`'],
] as const)('refuses %s as Go does', (pattern, why) => expect(matches(pattern, 'a')).toBe(why));

test('refuses one that would take long to read, and says what to do', () => {
  expect(matches('a'.repeat(10_000), 'a'.repeat(10_000))).toBe(true);
  expect(matches('a'.repeat(10_001), 'a')).toBe('has 10001 characters, at most 10000 are read; write several expressions');
});

test('its time is linear, whatever it is', () => {
  const text = `${'a'.repeat(5_000)}!`;
  const started = process.cpuUsage();
  for (const pattern of ['^(a|aa)+$', '(a+)+$', '^(a|b|ab)*c$', '(.*.*.*)*x', '^(((a*)*)*)*$', '(a?){200}a{200}$'])
    expect(matches(pattern, text)).toBe(false);
  // Those that backtrack take years.
  expect((process.cpuUsage(started).user + process.cpuUsage(started).system) / 1_000_000).toBeLessThan(20);
});
