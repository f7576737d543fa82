import { expect, test } from 'vitest';
import { readBandwidth } from './pre-caching-config.ts';

test.each<{ annotations: Record<string, string> | undefined; want: object }>([
  { annotations: undefined, want: {} },
  { annotations: {}, want: {} },
  { annotations: { 'flotilla.io/bandwidth': ' 1250000 ' }, want: { bytesPerSecond: 1_250_000 } },
  { annotations: { 'flotilla.io/bandwidth': '16384' }, want: { bytesPerSecond: 16_384 } },
])('$annotations is $want', ({ annotations, want }) => {
  expect(readBandwidth(annotations)).toEqual(want);
});

test.each(['', '16383', '1000000000001', '1e6', '-20000', '8MB', '99999999999999999999'])('%j is refused with the fix', (text) => {
  expect(readBandwidth({ 'flotilla.io/bandwidth': text }).problem).toBe(
    `flotilla.io/bandwidth is ${JSON.stringify(text)}; write bytes a second as a whole number from 16384 to 1000000000000`,
  );
});
