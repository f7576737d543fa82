import { expect, test } from 'vitest';
import { readWindowSchedule, type WindowSchedule } from './window-schedule.ts';

const HOUR = 3_600_000;
const at = (time: string): number => Date.parse(time);
const iso = (time: number | undefined) => time && new Date(time).toISOString().replace('.000Z', 'Z');

function read(schedule: string, duration: string, timezone = 'UTC'): WindowSchedule {
  const read = readWindowSchedule({ schedule, duration, timezone });
  if ('field' in read) throw new Error(`${read.field}: ${read.why}`);
  return read;
}

const nightly = read('0 22 * * *', '4h', 'Europe/Berlin');

test.each([
  { name: 'a second before it opens', now: '2026-11-24T20:59:59Z', closes: undefined },
  { name: 'when it opens', now: '2026-11-24T21:00:00Z', closes: '2026-11-25T01:00:00Z' },
  { name: 'over midnight', now: '2026-11-25T00:59:59.999Z', closes: '2026-11-25T01:00:00Z' },
  { name: 'when it closes', now: '2026-11-25T01:00:00Z', closes: undefined },
])('a nightly window $name', ({ now, closes }) => {
  expect(iso(nightly.openAt(at(now))?.closesAt)).toBe(closes);
});

test.each([
  { name: 'in winter', from: '2026-01-10T00:00:00Z', next: '2026-01-10T21:00:00Z', shown: '2026-01-10T22:00:00+01:00' },
  { name: 'in summer', from: '2026-07-10T00:00:00Z', next: '2026-07-10T20:00:00Z', shown: '2026-07-10T22:00:00+02:00' },
])('opens by the local clock $name', ({ from, next, shown }) => {
  const opening = nightly.nextOpening(at(from)) ?? 0;
  expect([iso(opening), nightly.format(opening)]).toEqual([next, shown]);
});

function openings(schedule: string, timezone: string, { after, count }: { after: string; count: number }): (string | undefined | 0)[] {
  const windows = read(schedule, '15m', timezone);
  const found: number[] = [];
  for (let time = at(after); found.length < count; time = found.at(-1) ?? time) found.push(windows.nextOpening(time) ?? Number.NaN);
  return found.map((time) => windows.format(time).replace(/^\d{4}-/, ''));
}

test.each([
  { name: 'is moved by the skipped hour', schedule: '30 2 * * *', want: ['03-29T03:30:00+02:00', '03-30T02:30:00+02:00'] },
  { name: 'keeps its distance to others of that hour', schedule: '*/30 2 * * *', want: ['03-29T03:00:00+02:00', '03-29T03:30:00+02:00'] },
  { name: 'is one with that of the next hour', schedule: '0 2,3,4 * * *', want: ['03-29T03:00:00+02:00', '03-29T04:00:00+02:00'] },
  {
    name: 'comes after those that it would come before',
    schedule: '15,45 2,3 * * *',
    want: ['03-29T03:15:00+02:00', '03-29T03:45:00+02:00', '03-30T02:15:00+02:00'],
  },
  { name: 'of a date that skips it', schedule: '15 2 29 3 *', want: ['03-29T03:15:00+02:00', '03-29T02:15:00+02:00'] },
])('an opening that daylight saving skips $name', ({ schedule, want }) => {
  expect(openings(schedule, 'Europe/Berlin', { after: '2026-03-28T12:00:00Z', count: want.length })).toEqual(want);
});

test('zones with other changes: an evening hour, and half an hour', () => {
  const after = '2026-10-03T12:00:00Z';
  expect(openings('10 2 * * *', 'Australia/Lord_Howe', { after, count: 2 })).toEqual(['10-04T02:40:00+11:00', '10-05T02:10:00+11:00']);
  expect(openings('10,20,35 2 * * *', 'Australia/Lord_Howe', { after, count: 1 })).toEqual(['10-04T02:35:00+11:00']);
  const cairo = openings('30 0 * * *', 'Africa/Cairo', { after: '2026-04-23T12:00:00Z', count: 2 });
  expect(cairo).toEqual(['04-24T01:30:00+03:00', '04-25T00:30:00+03:00']);
});

test('a window whose opening was skipped is open at its new time, and one that comes twice opens once', () => {
  const early = read('30 2 * * *', '1h', 'Europe/Berlin');
  expect(iso(early.openAt(at('2026-03-29T01:30:00Z'))?.closesAt)).toBe('2026-03-29T02:30:00Z');
  expect(early.openAt(at('2026-03-29T01:29:59Z'))).toBeUndefined();
  expect(iso(early.nextOpening(at('2026-10-25T00:30:00Z')))).toBe('2026-10-26T01:30:00Z');
  expect(iso(early.openAt(at('2026-10-25T00:30:00Z'))?.closesAt)).toBe('2026-10-25T01:30:00Z');
  expect(early.openAt(at('2026-10-25T01:30:00Z'))).toBeUndefined();
  // A window that is open while clocks change has its whole length.
  expect(iso(read('0 1 * * *', '3h', 'Europe/Berlin').openAt(at('2026-03-29T00:30:00Z'))?.closesAt)).toBe('2026-03-29T03:00:00Z');
});

test.each([
  { schedule: '0 2 1-7 * 6', want: true },
  { schedule: '0 2 * * 6', want: false },
  { schedule: '0 2 1 * *', want: false },
  { schedule: '0 2 */2 * 6', want: true },
  { schedule: '0 2 ? * 6', want: false },
  { schedule: '0 2 1-7 * +6', want: false },
])('$schedule names days of the month and of the week: $want', ({ schedule, want }) => {
  expect(read(schedule, '1h').namesBothDays).toBe(want);
});

test('windows that touch or overlap are one', () => {
  const weekend = read('0 22 * * 5,6', '24h');
  expect(iso(weekend.openAt(at('2026-11-27T23:00:00Z'))?.closesAt)).toBe('2026-11-29T22:00:00Z');
  expect(read('0 * * * *', '2h').openAt(at('2026-11-27T23:30:00Z'))).toEqual({ closesAt: undefined });
  expect(iso(read('*/5 0-5 * * *', '15m').openAt(at('2026-11-27T00:00:00Z'))?.closesAt)).toBe('2026-11-27T06:10:00Z');
});

test.each([
  { name: 'of no window', from: '2026-11-24T02:00:00Z', to: '2026-11-24T20:00:00Z', hours: 0 },
  { name: 'within one', from: '2026-11-24T21:30:00Z', to: '2026-11-24T22:30:00Z', hours: 1 },
  { name: 'over three nights, the first and last in part', from: '2026-11-24T23:00:00Z', to: '2026-11-26T22:00:00Z', hours: 2 + 4 + 1 },
  { name: 'of nothing', from: '2026-11-24T23:00:00Z', to: '2026-11-24T23:00:00Z', hours: 0 },
])('the open time $name', ({ from, to, hours }) => {
  expect(nightly.openMs(at(from), at(to))).toBe(hours * HOUR);
});

test('the open time is the same, asked at once, step by step, or of an earlier time again', () => {
  const windows = () => read('*/50 * * * *', '15m');
  const from = at('2026-11-24T00:20:00Z');
  const ends = Array.from({ length: 40 }, (_, step) => from + step * 7 * 60_000);
  const asked = windows();
  const once = ends.map((to) => windows().openMs(from, to));
  expect(ends.map((to) => asked.openMs(from, to))).toEqual(once);
  expect(ends.toReversed().map((to) => asked.openMs(from, to))).toEqual(once.toReversed());
});

test('the open time of windows that overlap is counted once, and of a long past it is bounded', () => {
  expect(read('0 * * * *', '2h').openMs(at('2026-11-24T00:00:00Z'), at('2026-11-24T10:00:00Z'))).toBe(10 * HOUR);
  const quarter = read('0 * * * *', '15m');
  const hours = 2_000;
  const from = at('2026-01-01T00:00:00Z');
  // A thousand windows of a quarter, and all time after them.
  expect(quarter.openMs(from, from + hours * HOUR)).toBe(1_000 * (HOUR / 4) + (hours - 1_000) * HOUR + 0.75 * HOUR);
});

test.each([
  { name: 'too few fields', parts: { schedule: '0 22 * *' }, field: 'schedule', why: 'not five cron fields' },
  { name: 'seconds', parts: { schedule: '0 0 22 * * *' }, field: 'schedule', why: 'not five cron fields' },
  { name: 'a nickname', parts: { schedule: '@daily' }, field: 'schedule', why: 'not five cron fields' },
  { name: 'an hour that is none', parts: { schedule: '0 25 * * *' }, field: 'schedule', why: 'Invalid value for hour: 25' },
  { name: 'a day that never comes', parts: { schedule: '0 0 31 2 *' }, field: 'schedule', why: 'never opens' },
  { name: 'a length without unit', parts: { duration: '4' }, field: 'duration', why: 'between 15m and 168h' },
  { name: 'an empty length', parts: { duration: '' }, field: 'duration', why: 'between 15m and 168h' },
  { name: 'a length that is too short', parts: { duration: '14m' }, field: 'duration', why: 'between 15m and 168h' },
  { name: 'a length that is too long', parts: { duration: '168h1m' }, field: 'duration', why: 'between 15m and 168h' },
  { name: 'a zone of another world', parts: { timezone: 'Mars/Phobos' }, field: 'timezone', why: 'IANA' },
  { name: 'an offset', parts: { timezone: '+01:00' }, field: 'timezone', why: 'IANA' },
])('refuses $name', ({ parts, field, why }) => {
  const read = readWindowSchedule({ schedule: '0 22 * * *', duration: '4h', timezone: 'UTC', ...parts });
  expect(read).toEqual({ field, why: expect.stringContaining(why) });
});

test.each(['0 22 * * *', '*/30 * * * *', '30 2 * * *', '0 1 * * 0', '0 2 29 2 *'])(
  '%s says at a time what it says when it is asked first, whatever it was asked before',
  (schedule) => {
    const ask = () => read(schedule, '25m', 'Europe/Berlin');
    const shared = ask();
    const change = at('2026-10-25T01:00:00Z');
    // Steps of 17 minutes around a change, forth and back, and each time twice.
    const steps = Array.from({ length: 80 }, (_, step) => change + (step - 40) * 17 * 60_000);
    const answers = (windows: typeof shared, time: number) => [windows.openAt(time), windows.nextOpening(time), windows.format(time)];
    const first = new Map(steps.map((time) => [time, answers(ask(), time)]));
    for (const time of [...steps, ...steps.toReversed()].flatMap((each) => [each, each]))
      expect(answers(shared, time)).toEqual(first.get(time));
  },
);
