import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { closedMs, judgeWindow, windowsOf } from './window.ts';

const START = '2026-01-31T22:00:00+01:00';
const END = '2026-01-31T23:00:00Z';
const at = (time: string): number => Date.parse(time);
const judge = (start: string | undefined, end: string | undefined, now: string) =>
  judgeWindow(
    ClusterGroupUpgrade.schema.parse({
      metadata: {
        name: 'u',
        annotations: {
          ...(start !== undefined && { [Annotation.windowStart]: start }),
          ...(end !== undefined && { [Annotation.windowEnd]: end }),
        },
      },
    }),
    at(now),
  );

test.each([
  { name: 'no window is always open', start: undefined, end: undefined, now: '2026-01-01T00:00:00Z', want: 'open' },
  {
    name: 'it is closed before its start',
    start: START,
    end: END,
    now: '2026-01-31T20:59:59.999Z',
    want: `Waiting for the window, which starts at ${START} (annotation flotilla.io/window-start)`,
  },
  {
    name: 'it is open from its start on, in whatever zone that is written',
    start: START,
    end: END,
    now: '2026-01-31T21:00:00Z',
    want: 'open',
  },
  { name: 'it is open until its end', start: START, end: END, now: '2026-01-31T22:59:59.999Z', want: 'open' },
  {
    name: 'it is closed from its end on',
    start: START,
    end: END,
    now: END,
    want: `The window ended at ${END} (annotation flotilla.io/window-end)`,
  },
  { name: 'it needs no end', start: START, end: undefined, now: '2030-01-01T00:00:00Z', want: 'open' },
  { name: 'it needs no start', start: undefined, end: END, now: '2020-01-01T00:00:00Z', want: 'open' },
])('$name', ({ start, end, now, want }) => {
  const window = judge(start, end, now);
  expect(window.kind === 'open' ? 'open' : window.message).toBe(want);
});

test('a window that is yet to open says when', () =>
  expect(judge(START, END, '2026-01-01T00:00:00Z')).toMatchObject({ opensAt: at(START) }));

test.each([
  {
    name: 'a time without zone',
    start: '2026-01-31T22:00:00',
    end: undefined,
    wants: ['window-start', '"2026-01-31T22:00:00"', 'RFC 3339'],
  },
  { name: 'words', start: undefined, end: 'tonight', wants: ['window-end', '"tonight"', 'RFC 3339'] },
  { name: 'a day that does not exist', start: '2026-02-30T00:00:00Z', end: undefined, wants: ['window-start', '2026-02-30'] },
  { name: 'an empty text', start: '', end: undefined, wants: ['window-start', '""'] },
  {
    name: 'an end before the start',
    start: END,
    end: START,
    wants: ['window-end', START, 'window-start', END, 'with the end after the start'],
  },
  { name: 'an end at the start', start: END, end: END, wants: ['window-end', 'with the end after the start'] },
])('$name is refused with annotation, value and fix', ({ start, end, wants }) => {
  const window = judge(start, end, '2026-01-01T00:00:00Z');
  expect(window.kind).toBe('invalid');
  for (const want of wants) expect(window).toMatchObject({ message: expect.stringContaining(want) });
});

const NIGHTLY = {
  'flotilla.io/window-schedule': '0 22 * * *',
  'flotilla.io/window-duration': '4h',
  'flotilla.io/window-timezone': 'Europe/Berlin',
};
const BY = '0 22 * * * (annotation flotilla.io/window-schedule)';
const annotated = (annotations: Readonly<Record<string, string | undefined>>) =>
  ClusterGroupUpgrade.schema.parse({ metadata: { name: 'u', annotations: JSON.parse(JSON.stringify(annotations)) } });

test.each([
  {
    name: 'is closed by day, and says when it opens by the local clock',
    now: '2026-07-01T12:00:00Z',
    want: {
      kind: 'closed',
      message: `Waiting for the window, which opens next at 2026-07-01T22:00:00+02:00 by ${BY}`,
      opensAt: at('2026-07-01T20:00:00Z'),
    },
  },
  { name: 'is open by night', now: '2026-07-01T21:00:00Z', want: { kind: 'open', closesAt: at('2026-07-02T00:00:00Z') } },
  {
    name: 'opens for the first time within its bounds',
    bounds: { 'flotilla.io/window-start': '2026-07-01T23:00:00Z' },
    now: '2026-07-01T21:00:00Z',
    want: {
      kind: 'closed',
      message: `Waiting for the window, which opens next at 2026-07-02T01:00:00+02:00 by ${BY}`,
      opensAt: at('2026-07-01T23:00:00Z'),
    },
  },
  {
    name: 'closes with its bounds',
    bounds: { 'flotilla.io/window-end': '2026-07-01T22:00:00Z' },
    now: '2026-07-01T21:00:00Z',
    want: { kind: 'open', closesAt: at('2026-07-01T22:00:00Z') },
  },
  {
    name: 'that opens no more before its bounds end says so',
    bounds: { 'flotilla.io/window-end': '2026-07-01T19:00:00Z' },
    now: '2026-07-01T12:00:00Z',
    want: { kind: 'closed', message: `No window by ${BY} opens before 2026-07-01T19:00:00Z (annotation flotilla.io/window-end)` },
  },
])('a window that recurs $name', ({ bounds, now, want }) => {
  expect(judgeWindow(annotated({ ...NIGHTLY, ...bounds }), at(now))).toEqual(want);
});

test('a schedule without a zone is in UTC', () => {
  const { 'flotilla.io/window-timezone': _, ...utc } = NIGHTLY;
  expect(judgeWindow(annotated(utc), at('2026-07-01T12:00:00Z'))).toMatchObject({ opensAt: at('2026-07-01T22:00:00Z') });
});

test.each([
  {
    name: 'a schedule that is none',
    given: { ...NIGHTLY, 'flotilla.io/window-schedule': 'every night' },
    wants: ['window-schedule is "every night"', 'five cron fields'],
  },
  {
    name: 'a length that is none',
    given: { ...NIGHTLY, 'flotilla.io/window-duration': '4 hours' },
    wants: ['window-duration is "4 hours"', '168h'],
  },
  {
    name: 'a zone that is none',
    given: { ...NIGHTLY, 'flotilla.io/window-timezone': 'Berlin' },
    wants: ['window-timezone is "Berlin"', 'IANA'],
  },
  {
    name: 'a schedule without a length',
    given: { 'flotilla.io/window-schedule': '0 22 * * *' },
    wants: ['window-schedule stands without flotilla.io/window-duration'],
  },
  {
    name: 'a length without a schedule',
    given: { 'flotilla.io/window-duration': '4h' },
    wants: ['window-duration stands without flotilla.io/window-schedule'],
  },
  {
    name: 'a zone without a schedule',
    given: { 'flotilla.io/window-timezone': 'UTC' },
    wants: ['window-timezone stands without flotilla.io/window-schedule'],
  },
])('$name is refused with annotation, value and fix', ({ given, wants }) => {
  const window = judgeWindow(annotated(given), at('2026-07-01T12:00:00Z'));
  expect(window.kind).toBe('invalid');
  for (const want of [...wants, 'a schedule as "0 22 * * 6" with the duration 4h'])
    expect(window).toMatchObject({ message: expect.stringContaining(want) });
});

test('only a window that recurs is closed time between, and not after its end', () => {
  const [from, to] = [at('2026-07-01T21:00:00Z'), at('2026-07-02T21:00:00Z')];
  expect(closedMs(annotated(NIGHTLY), from, to)).toBe(20 * 3_600_000);
  expect(closedMs(annotated({ ...NIGHTLY, 'flotilla.io/window-end': '2026-07-02T02:00:00Z' }), from, to)).toBe(2 * 3_600_000);
  expect(closedMs(annotated({ 'flotilla.io/window-end': '2026-07-02T02:00:00Z' }), from, to)).toBe(0);
  expect(closedMs(annotated({}), from, to)).toBe(0);
});

test('a window that begins later is closed until then', () => {
  const later = annotated({ ...NIGHTLY, 'flotilla.io/window-start': '2026-07-09T00:00:00Z' });
  expect(closedMs(later, at('2026-07-01T00:00:00Z'), at('2026-07-03T00:00:00Z'))).toBe(48 * 3_600_000);
});

test('each part of a time counts by the window that was in force, of many the oldest by the one after them', () => {
  let upgrade = annotated(NIGHTLY);
  const day = (n: number) => at('2026-07-01T00:00:00Z') + n * 24 * 3_600_000;
  for (let n = 0; n < 30; n++) {
    const annotations = { ...NIGHTLY, [Annotation.windowDuration]: `${1 + (n % 2)}h` };
    const edited = { ...upgrade, metadata: { ...upgrade.metadata, annotations } };
    upgrade = { ...edited, status: { status: { startedAt: '2026-07-01T00:00:00Z', windows: [...windowsOf(edited, day(n))] } } };
  }
  expect(upgrade.status?.status.windows?.length).toBe(20);
  // From the eleventh edit on all are known: 24 h without 1 or 2.
  expect(closedMs(upgrade, day(12), day(14))).toBe(45 * 3_600_000);
  expect(closedMs(upgrade, day(0), day(10))).toBe(10 * 23 * 3_600_000);
});

test('a window that begins in a year that never comes names its start', () => {
  const yearly = {
    'flotilla.io/window-schedule': '0 0 31 12 *',
    'flotilla.io/window-duration': '4h',
    'flotilla.io/window-start': '9999-12-31T23:59:59Z',
  };
  const never = judgeWindow(annotated(yearly), at('2026-07-01T00:00:00Z'));
  expect(never).toMatchObject({
    kind: 'closed',
    message: expect.stringMatching(/opens after 9999-12-31T23:59:59Z \(annotation flotilla.io\/window-start\)$/),
  });
});

test.each([
  { name: 'closed', now: '2026-11-28T12:00:00Z' },
  { name: 'open', now: '2026-11-28T02:30:00Z' },
])('a schedule that names both days is warned of with the next five openings while it is $name', ({ now }) => {
  const annotations = { [Annotation.windowSchedule]: '0 2 1-7 * 6', [Annotation.windowDuration]: '1h' };
  const window = judgeWindow({ metadata: { name: 'u', annotations } }, at(now));
  const days = ['12-01', '12-02', '12-03', '12-04', '12-05'].map((day) => `2026-${day}T02:00:00Z`).join(', ');
  expect(window.kind === 'open' ? window.warning : window.kind === 'closed' ? window.message : '').toContain(
    `opens on each day that is either: next at ${days}. Leave one of the two fields at *`,
  );
});
