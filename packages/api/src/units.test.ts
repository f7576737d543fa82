import { expect, test } from 'vitest';
import { age, bytes, duration, endFigure, figure } from './units.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [3_410_000_000, '3.41 GB'],
  [9_999_000, '10.0 MB'],
  [999_999_999, '1.00 GB'],
  [1.94e12, '1.94 TB'],
])('%d bytes are %s', (count, want) => expect(bytes(count)).toBe(want));

test.each([
  [-3, '0 s'],
  [119, '119 s'],
  [360, '6 min'],
  [7_800, '2 h 10'],
  [273_600, '3 d 4 h'],
])('%d seconds are %s', (seconds, want) => expect(duration(seconds)).toBe(want));

test('an age that nobody can tell is a question, and a figure says how sure it is', () => {
  expect(age(null, 0)).toBe('?');
  expect(age('1970-01-01T00:00:00Z', 5_000)).toBe('5 s');
  expect(figure({ certainty: 'forecast', value: 90 }, duration)).toBe('~ 90 s');
  expect(figure({ certainty: 'unknown' }, duration)).toBe('?');
  expect(endFigure({ certainty: 'at-most', value: 90 })).toBe('≤ 90 s');
  expect(endFigure({ certainty: 'at-most', value: 0 })).toBe('overdue');
});
