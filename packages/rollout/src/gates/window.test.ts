import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { judgeWindow } from './window.ts';

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
