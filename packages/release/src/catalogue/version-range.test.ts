import { expect, test } from 'vitest';
import { parseVersion } from '../semantic-version.ts';
import { isInRange } from './version-range.ts';

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
