import { describe, expect, test } from 'vitest';
import { compareVersions, parseVersion, streamOf } from './versions.ts';

test.each([
  ['', 'Version string empty'],
  ['4.14', 'No Major.Minor.Patch elements found'],
  ['v4.14.12', 'Invalid character(s) found in major number "v4"'],
  ['4.x.1', 'Invalid character(s) found in minor number "x"'],
  ['4.14.1x', 'Invalid character(s) found in patch number "1x"'],
  ['04.1.1', 'Major number must not contain leading zeroes "04"'],
  ['4.1.1-', 'Prerelease is empty'],
  ['4.1.1-rc.01', 'Numeric PreRelease version must not contain leading zeroes "01"'],
  ['4.1.1-r_c', 'Invalid character(s) found in prerelease "r_c"'],
  ['4.1.1+', 'Build meta data is empty'],
])('refuses %j: %s', (text, message) => expect(() => parseVersion(text)).toThrow(message));

describe('orders', () => {
  const inOrder = [
    '4.13.20',
    '4.14.0-alpha',
    '4.14.0-ec.2',
    '4.14.0-rc.1',
    '4.14.0-rc.10',
    '4.14.0',
    '4.14.2',
    '4.14.10',
    '4.15.0',
    '5.0.0',
  ];
  test('versions by semver', () => {
    const shuffled = inOrder.toReversed();
    expect(shuffled.toSorted((a, b) => compareVersions(parseVersion(a), parseVersion(b)))).toEqual(inOrder);
  });
  test('builds as equal', () => expect(compareVersions(parseVersion('4.14.1+a'), parseVersion('4.14.1+b'))).toBe(0));
  test('a number before a word', () => expect(compareVersions(parseVersion('1.0.0-1'), parseVersion('1.0.0-a'))).toBeLessThan(0));
  test('fewer identifiers first', () => expect(compareVersions(parseVersion('1.0.0-a'), parseVersion('1.0.0-a.1'))).toBeLessThan(0));
});

test.each([
  ['4.14.9', '4.14.12', 'z'],
  ['4.14.9', '4.15.0', 'y'],
  ['4.14.9', 'new', 'unknown'],
  ['', '4.15.0', 'unknown'],
])('from %j to %j is stream %s', (from, to, stream) => expect(streamOf(from, to)).toBe(stream));
