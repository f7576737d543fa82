import { expect, onTestFinished, test, vi } from 'vitest';
import { aheadMs, hearTime, now, present, tick } from './server-clock.ts';

const SERVER = Date.parse('2026-12-05T22:00:00Z');
const MINUTE_MS = 60_000;

test.each([-10, 10])('times are those of the server while the browser is %i min ahead, and go on', (minutes) => {
  vi.useFakeTimers({ toFake: ['Date'], now: SERVER + minutes * MINUTE_MS });
  onTestFinished(() => {
    vi.useRealTimers();
    hearTime(Date.now());
  });
  hearTime(SERVER);
  expect({ ahead: aheadMs.value, now: now.value, present: present() }).toEqual({
    ahead: minutes * MINUTE_MS,
    now: SERVER,
    present: SERVER,
  });
  vi.setSystemTime(Date.now() + MINUTE_MS);
  expect(now.value).toBe(SERVER);
  tick();
  expect(now.value).toBe(SERVER + MINUTE_MS);
});

test('what a second and the way of an answer make is no difference', () => {
  hearTime(Date.now() - 1_500);
  expect(aheadMs.value).toBe(0);
});
