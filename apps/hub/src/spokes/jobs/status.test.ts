import type { PrecacheState } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { rollUp } from './status.ts';

interface Row {
  readonly name: string;
  readonly states: Readonly<Record<string, PrecacheState>>;
  readonly want: Partial<ReturnType<typeof rollUp>>;
}
const rows: Row[] = [
  {
    name: 'nothing started',
    states: {},
    want: { status: 'False', reason: 'InProgress', message: 'Precaching in progress for 3 clusters', finished: false },
  },
  {
    name: 'one not started counts as in progress',
    states: { a: 'Succeeded', b: 'Succeeded', c: 'NotStarted' },
    want: { status: 'False', reason: 'InProgress', message: 'Precaching in progress for 1 clusters' },
  },
  {
    name: 'every state in between is in progress',
    states: { a: 'PreparingToStart', b: 'Starting', c: 'Active' },
    want: { reason: 'InProgress', message: 'Precaching in progress for 3 clusters' },
  },
  {
    name: 'a failure does not end it',
    states: { a: 'UnrecoverableError', b: 'Active', c: 'Succeeded' },
    want: { status: 'False', reason: 'InProgress', failed: ['a'], finished: false },
  },
  {
    name: 'all succeeded',
    states: { a: 'Succeeded', b: 'Succeeded', c: 'Succeeded' },
    want: {
      status: 'True',
      reason: 'PrecachingCompleted',
      message: 'Precaching is completed for all clusters',
      failed: [],
      finished: true,
    },
  },
  {
    name: 'some failed',
    states: { a: 'Succeeded', b: 'PrecacheTimeout', c: 'UnrecoverableError' },
    want: { status: 'False', reason: 'PartiallyDone', message: 'Precaching failed for 2 clusters', failed: ['b', 'c'], finished: true },
  },
  {
    name: 'all failed',
    states: { a: 'PrecacheTimeout', b: 'PrecacheTimeout', c: 'UnrecoverableError' },
    want: { status: 'False', reason: 'Failed', message: 'Precaching failed for all clusters', failed: ['a', 'b', 'c'], finished: true },
  },
  {
    name: 'spokes outside the plan do not count',
    states: { a: 'Succeeded', b: 'Succeeded', c: 'Succeeded', d: 'Active', e: 'UnrecoverableError' },
    want: { status: 'True', reason: 'PrecachingCompleted', failed: [] },
  },
];

test.each(rows)('$name', ({ states, want }) => {
  expect(rollUp(['a', 'b', 'c'], new Map(Object.entries(states)))).toMatchObject(want);
});

test('strictly pre-caching that failed everywhere ends nothing', () => {
  const states = new Map<string, PrecacheState>([['a', 'PrecacheTimeout']]);
  expect(rollUp(['a'], states, true)).toMatchObject({ reason: 'Failed', message: 'Precaching failed for all clusters', finished: false });
});

test('strictly a part is a success', () => {
  const states = new Map<string, PrecacheState>([
    ['a', 'Succeeded'],
    ['b', 'PrecacheTimeout'],
  ]);
  expect(rollUp(['a', 'b'], states, true)).toMatchObject({ status: 'True', reason: 'PartiallyDone', failed: ['b'], finished: true });
});
