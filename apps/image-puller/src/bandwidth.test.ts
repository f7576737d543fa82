import { systemClock } from '@flotilla/pace';
import { expect, test } from 'vitest';
import { openBandwidth, openLimit, rangeBytesUnder } from './registry-client.ts';

test.each([
  { cap: 32_000_000, bytes: 1_000_000 },
  { cap: 1_000_000_000_000, bytes: 4 * 1024 * 1024 },
  { cap: 1_000_000, bytes: 31_250 },
  { cap: 16_384, bytes: 16 * 1024 },
])('a cap of $cap bytes a second asks for $bytes at once', ({ cap, bytes }) => {
  expect(rangeBytesUnder(cap)).toBe(bytes);
});

test('no cap is no bandwidth', () => {
  expect(openLimit(undefined, systemClock)).toBeUndefined();
  expect(openBandwidth(undefined, undefined)).toBeUndefined();
  expect(openBandwidth(3_200_000, openLimit(3_200_000, systemClock))?.rangeBytes).toBe(100_000);
});
