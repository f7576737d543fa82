import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { IdleTimer } from './idle-timer.ts';

test('it fires once nothing has refreshed it for the time', async () => {
  const clock = new ManualClock();
  const fired: number[] = [];
  const begin = clock.now();
  using timer = new IdleTimer(clock, 100, () => fired.push(clock.now() - begin));
  await clock.advance(60);
  timer.refresh();
  await clock.advance(60);
  expect(fired).toEqual([]);
  await clock.advance(1_000);
  expect(fired).toEqual([160]);
});

test('a disposed one does not fire', async () => {
  const clock = new ManualClock();
  const fired: string[] = [];
  new IdleTimer(clock, 100, () => fired.push('fired'))[Symbol.dispose]();
  await clock.advance(1_000);
  expect([fired, clock.pending]).toEqual([[], 0]);
});
