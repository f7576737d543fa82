import type { Condition } from '@flotilla/api';
import { expect, test } from 'vitest';
import { setCondition } from './status-conditions.ts';

const then = '2026-01-01T00:00:00Z';
const now = new Date('2026-01-02T03:04:05.678Z');
const condition = (type: string, status: Condition['status'] = 'False', reason = 'Old'): Condition => ({
  type,
  status,
  reason,
  message: 'old',
  lastTransitionTime: then,
});

test.each([
  { name: 'appends a type that is new', before: ['A'], update: ['B', 'True'], order: ['A', 'B'], time: '2026-01-02T03:04:05Z' },
  { name: 'keeps the place of a type whose status stays', before: ['A', 'B'], update: ['A', 'False'], order: ['A', 'B'], time: then },
  {
    name: 'moves a type whose status changes to the end',
    before: ['A', 'B'],
    update: ['A', 'True'],
    order: ['B', 'A'],
    time: '2026-01-02T03:04:05Z',
  },
  {
    name: 'keeps the last type last when its status changes',
    before: ['A', 'B'],
    update: ['B', 'True'],
    order: ['A', 'B'],
    time: '2026-01-02T03:04:05Z',
  },
] as const)('$name', ({ before, update: [type, status], order, time }) => {
  const after = setCondition(
    before.map((each) => condition(each)),
    { type, status, reason: 'New', message: 'new' },
    now,
  );
  expect(after.map((each) => each.type)).toEqual(order);
  expect(after.find((each) => each.type === type)).toEqual({ type, status, reason: 'New', message: 'new', lastTransitionTime: time });
});

test('returns the same array when nothing changes, and never edits the one it was given', () => {
  const before = Object.freeze([Object.freeze(condition('A')), Object.freeze(condition('B'))]) as Condition[];
  expect(setCondition(before, { type: 'A', status: 'False', reason: 'Old', message: 'old' }, now)).toBe(before);
  setCondition(before, { type: 'A', status: 'True', reason: 'New', message: 'new' }, now);
  expect(before[0]).toEqual(condition('A'));
});
