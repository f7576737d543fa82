import { WindowParts } from '@flotilla/api/answers';
import { expect, test } from 'vitest';
import { fieldOf, windowOf } from './window-fields.ts';

const shown = (was: WindowParts) => WindowParts.keyof().options.map((part) => [part, fieldOf(part, was[part])] as const);
const BOUNDS = { start: '2099-01-01T22:00:30+01:00', end: '2099-01-02T02:00:00Z' };
const MONTHLY = { schedule: '0 2 1 * *', duration: '4h' };

test.each<WindowParts>([BOUNDS, { start: BOUNDS.start }, MONTHLY, { ...BOUNDS, ...MONTHLY, timezone: 'Asia/Tokyo' }, {}])(
  'a form that nobody touches says the window there is: %j',
  (was) => expect(windowOf(shown(was), was)).toEqual(was),
);

test('a field that is touched says the new value, and the others the old ones', () => {
  const end = new Date(2099, 0, 3, 4, 5);
  const fields = [...shown({ ...BOUNDS, ...MONTHLY }), ['end', '2099-01-03T04:05'], ['duration', '']] as const;
  expect(windowOf(fields, { ...BOUNDS, ...MONTHLY })).toEqual({
    start: BOUNDS.start,
    end: end.toISOString(),
    schedule: MONTHLY.schedule,
  });
});

test('a time that cannot be read is an empty field', () => expect(fieldOf('start', 'yesterday')).toBe(''));
