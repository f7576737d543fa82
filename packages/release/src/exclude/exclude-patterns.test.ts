import { spawnSync } from 'node:child_process';
import { measure } from '@flotilla/control-plane/fuzzing';
import { childEnvironment } from '@flotilla/control-plane/processes';
import { describe, expect, test } from 'vitest';
import { compileExcludePatterns, excludePatternLimits } from './exclude-patterns.ts';

const matches = (pattern: string, line: string): boolean => {
  const [name = '', pullSpec = ''] = line.split(/\$(.*)/s);
  return compileExcludePatterns([pattern]).excludes({ name, pullSpec });
};

const lines = [
  'etcd$registry.example/r/etcd@sha256:abc',
  'aws-driver$registry.example/r/aws:v1.2',
  'a+b$x(y)|{z}',
  'vSphere_csi$host:2000/v',
  'aaa$bb',
];
const patterns = [
  'aws',
  '^aws',
  '^quay',
  'abc$',
  'etcd$quay',
  'v1.2',
  'v1\\.2$',
  '.*',
  'a*',
  '*',
  '^*aws',
  '\\(*a\\)',
  'a+b',
  'a\\+b',
  'x(y)|{z}',
  'a\\{3\\}',
  '^a\\{1,2\\}\\$',
  'a\\{2,\\}',
  'aws\\|vSphere',
  '\\(aws\\|etcd\\)-driver',
  '\\(^etcd\\|^aaa\\)\\$',
  'e\\?tcd',
  '[[:upper:]]',
  '[^[:alnum:]_$./@:-]',
  '[]a]\\{3\\}',
  '[^]a-z]',
  'v[0-9]\\.[0-9]',
  '[a-]w',
  '\\<csi',
  '\\<driver\\>',
  '.\\>.*\\<.$',
  '\\>-\\<',
  '\\w_\\w',
  '\\W2000',
  'bb\\>$',
  '\\bbb',
  'a$b',
  'a^b',
  '\\(a\\)*b',
  'r/\\(etcd\\)\\{0,1\\}@',
  '',
];

test.each(patterns.filter((pattern) => pattern !== ''))('%s decides as grep -G does', (pattern) => {
  const grep = spawnSync('grep', ['-G', '-e', pattern], {
    input: lines.join('\n'),
    encoding: 'utf8',
    env: childEnvironment({ LC_ALL: 'C.UTF-8' }),
  });
  expect(grep.status, grep.stderr).toBeLessThan(2);
  expect(lines.filter((line) => matches(pattern, line))).toEqual(grep.stdout.split('\n').filter((line) => line !== ''));
});

test('blank patterns count as absent and blanks around a pattern are dropped', () => {
  const { excludes } = compileExcludePatterns(['', '  ', ' aws ']);
  expect(excludes({ name: 'etcd', pullSpec: 'x' })).toBe(false);
  expect(excludes({ name: 'aws', pullSpec: 'x' })).toBe(true);
});

describe('refused, naming the pattern', () => {
  test.each([
    ['[a', /has \[ without \]/],
    ['[[:nope:]]', /invalid character class range: \[:nope:\]/],
    ['[[:constructor:]]', /invalid character class range/],
    ['[z-a]', /invalid character class range: z-a/],
    ['[[.a.]]', /collating/],
    ['\\(a', /\\\( without \\\)/],
    ['a\\)', /\\\) without \\\(/],
    ['a\\', /ends with a backslash/],
    ['a\\{', /without a count/],
    ['a\\{x\\}', /without a count/],
    ['a\\{2,1\\}', /invalid repeat count: \{2,1\}/],
    ['a\\{1001\\}', /invalid repeat count: \{1001\}/],
    ['a\\{99999\\}', /too large/],
    ['\\(a\\)\\1', /back-reference/],
    ['\\(\\(a\\{1000\\}\\)\\{1000\\}\\)\\{1000\\}', /too large/],
    ['\\(\\)\\{1000\\}\\{1000\\}\\{1000\\}\\{1000\\}', /too large/],
    [`a${'*'.repeat(1_020)}`, /expression nests too deeply/],
    ['a'.repeat(2_000), /more than 1024 characters/],
  ])('%s', (pattern, message) => {
    expect(() => compileExcludePatterns(['fine', pattern])).toThrow(
      expect.objectContaining({ code: 'FLOTILLA_EXCLUDE_PATTERN_INVALID', message: expect.stringMatching(message) }),
    );
  });

  test('too many patterns, or patterns that are too large together', () => {
    expect(() => compileExcludePatterns(Array.from({ length: excludePatternLimits.patterns + 1 }, (_, i) => `p${i}`))).toThrow(/at most/);
    expect(() => compileExcludePatterns(Array.from({ length: 30 }, (_, i) => `p${i}\\{1000\\}`))).toThrow(/together/);
  });
});

test.each(['\\(a*\\)*b', '\\(\\(a\\|a\\)*\\)*$x', '.*.*.*.*.*.*.*.*.*x', '\\(a\\?\\)\\{200\\}a\\{200\\}b'])(
  '%s does not backtrack for ever',
  async (pattern) => {
    let matched: boolean | undefined;
    const { pauseMs } = await measure(() => {
      matched = matches(pattern, `${'a'.repeat(1_000)}$`);
    });
    expect(matched).toBe(false);
    expect(pauseMs).toBeLessThan(2_000);
  },
);
