import { expect, test } from 'vitest';
import { DEFAULT_RATE, parseOptions } from './options.ts';

test('has a default for everything', () => {
  expect(parseOptions([])).toEqual({ keep: false, rate: DEFAULT_RATE, spokes: 2, ocm: false, help: false });
});

test('takes every option', () => {
  expect(parseOptions(['--keep', '--rate', '200mbit', '--spokes', '3'])).toMatchObject({
    keep: true,
    rate: '200mbit',
    spokes: 3,
  });
});

test('takes the other story with its spokes', () => {
  expect(parseOptions(['--ocm', '--spokes', '3', '--keep'])).toMatchObject({ ocm: true, spokes: 3, keep: true });
});

test.each([
  { name: 'a rate without a unit', args: ['--rate', '20'], want: /--rate 20: must be/ },
  { name: 'no spokes', args: ['--spokes', '0'], want: /--spokes 0: must be a whole number/ },
  { name: 'too many spokes', args: ['--spokes', '9'], want: /from 1 to 4/ },
  { name: 'a rate in the other story', args: ['--ocm', '--rate', '20mbit'], want: /--ocm --rate 20mbit: leave out --rate/ },
  { name: 'an unknown option', args: ['--fast'], want: /--fast.*see --help/ },
])('refuses $name and names the fix', ({ args, want }) => expect(() => parseOptions(args)).toThrow(want));
