import { expect, test } from 'vitest';
import { isEarly, scheduleOf } from './schedule.ts';

const now = Date.parse('2026-02-01T10:00:00Z');
const MINUTE = 60_000;
const at = (offsetMs: number) => new Date(now + offsetMs).toISOString();

test.each([
  { name: 'no time', upgradeAt: 'tomorrow', want: undefined },
  { name: 'a date alone', upgradeAt: '2026-02-01', want: undefined },
  { name: 'a time without a zone', upgradeAt: '2026-02-01T10:00:00', want: undefined },
  { name: 'a day that February never has', upgradeAt: '2026-02-30T10:00:00Z', want: undefined },
  { name: 'a day that only leap years have', upgradeAt: '2026-02-29T10:00:00Z', want: undefined },
  { name: 'a 31st of April', upgradeAt: '2026-04-31T10:00:00Z', want: undefined },
  { name: 'a hour after the last', upgradeAt: '2026-02-01T24:00:00Z', want: undefined },
  { name: 'a leap day', upgradeAt: '2024-02-29T10:00:00Z', want: { isReady: true, isBreached: true, untilUpgradeMs: 0 } },
  { name: 'a moment ago', upgradeAt: at(-1), want: { isReady: true, isBreached: false, untilUpgradeMs: 0 } },
  { name: 'now', upgradeAt: at(0), want: { isReady: false, isBreached: false, untilUpgradeMs: 0 } },
  { name: 'in an hour', upgradeAt: at(60 * MINUTE), want: { isReady: false, isBreached: false, untilUpgradeMs: 60 * MINUTE } },
  {
    name: 'in another zone',
    upgradeAt: '2026-02-01T12:30:00+02:00',
    want: { isReady: false, isBreached: false, untilUpgradeMs: 30 * MINUTE },
  },
  { name: 'at the end of its window', upgradeAt: at(-120 * MINUTE), want: { isReady: true, isBreached: true, untilUpgradeMs: 0 } },
  { name: 'just before that', upgradeAt: at(-120 * MINUTE + 1), want: { isReady: true, isBreached: false, untilUpgradeMs: 0 } },
])('$name', ({ upgradeAt, want }) => expect(scheduleOf(upgradeAt, 120, now)).toEqual(want));

test.each([
  [120 * MINUTE + 59_000, false],
  [121 * MINUTE, true],
  [0, false],
])('%d ms away is early: %s', (untilUpgradeMs, want) => expect(isEarly({ isReady: false, isBreached: false, untilUpgradeMs })).toBe(want));
