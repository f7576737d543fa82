import { compare } from 'semver';
import { expect, test } from 'vitest';
import { parseVersion, stepUp, type Version } from './semantic-version.ts';

const version = (text: string): Version => {
  const parsed = parseVersion(text);
  if (!parsed) throw new Error(`${text} is no version`);
  return parsed;
};

test('versions are ordered as semver.org has it', () => {
  const ordered = [
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.0.1',
    '1.10.0',
    '2.0.0',
  ];
  expect(ordered.toReversed().toSorted((a, b) => compare(version(a), version(b)))).toEqual(ordered);
  expect(compare(version('1.0.0+a'), version('1.0.0+b'))).toBe(0);
});

test.each([
  { text: '4.20.1', want: true },
  { text: '4.20.1-rc.1+build.7', want: true },
  { text: '4.20', want: false },
  { text: '4.020.1', want: false },
  { text: ' 4.20.1', want: false },
  { text: `4.20.1-${'a'.repeat(300)}`, want: false },
])('$text is a strict version: $want', ({ text, want }) => expect(parseVersion(text) !== undefined).toBe(want));

test.each([
  { from: '4.20.1', to: '4.20.2', want: undefined },
  { from: '4.20.1', to: '4.21.0-rc.1', want: 'minor' },
  { from: '4.20.1', to: '5.0.0', want: 'major' },
  { from: '4.20.1', to: '4.19.9', want: undefined },
])('from $from to $to the step up is $want', ({ from, to, want }) => expect(stepUp(version(from), version(to))).toBe(want));
