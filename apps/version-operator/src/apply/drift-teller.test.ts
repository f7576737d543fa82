import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { MendPace } from './drift-teller.ts';

test('mends at once, and an object that somebody else keeps changing ever later', async () => {
  const clock = new ManualClock();
  const pace = new MendPace(clock);
  const delays: number[] = [];
  for (let times = 0; times < 12; times++) {
    delays.push(pace.delayMs('a'));
    pace.count('a');
  }
  expect(delays).toEqual([0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(pace.delayMs('b')).toBe(0);
  await clock.advance(20_000);
  expect(pace.delayMs('a')).toBe(40_000);
  await clock.advance(10 * 60_000);
  expect(pace.delayMs('a')).toBe(0);
});
