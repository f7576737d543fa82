import { expect, test } from 'vitest';
import { Duration } from './options.ts';

test.each([
  { text: '0', ms: 0 },
  { text: '1h30m', ms: 5_400_000 },
  { text: '596h', ms: 596 * 3_600_000 },
])('$text is $ms ms', ({ text, ms }) => expect(Duration.parse(text)).toBe(ms));

test.each([
  { text: '597h', why: 'is too long: give 596h at most' },
  { text: '9999h', why: 'is too long: give 596h at most' },
  { text: 'soon', why: 'must be a time such as 90s, 30m or 4h' },
])('$text $why: a timer would end at once, or not begin', ({ text, why }) => {
  expect(Duration.safeParse(text).error?.issues.map(({ message }) => message)).toEqual([why]);
});
