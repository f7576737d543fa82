import type { BackupState } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import type { JudgedSpoke } from '../../judge.ts';
import { type BackupReport, describeBackup, rollUpBackup } from './report.ts';

describe('the roll-up', () => {
  const rows: { name: string; states: Record<string, BackupState>; want: Partial<ReturnType<typeof rollUpBackup>> }[] = [
    {
      name: 'nothing begun',
      states: {},
      want: { status: 'False', reason: 'InProgress', message: 'Backup in progress for 3 clusters', finished: false },
    },
    {
      name: 'a failure does not end it',
      states: { a: 'UnrecoverableError', b: 'Active', c: 'Succeeded' },
      want: { status: 'False', reason: 'InProgress', message: 'Backup in progress for 1 clusters', failed: ['a'], finished: false },
    },
    {
      name: 'all succeeded',
      states: { a: 'Succeeded', b: 'Succeeded', c: 'Succeeded' },
      want: { status: 'True', reason: 'BackupCompleted', message: 'Backup is completed for all clusters', failed: [], finished: true },
    },
    {
      name: 'some failed',
      states: { a: 'Succeeded', b: 'BackupTimeout', c: 'UnrecoverableError' },
      want: { status: 'False', reason: 'PartiallyDone', message: 'Backup failed for 2 clusters', failed: ['b', 'c'], finished: true },
    },
    {
      name: 'all failed',
      states: { a: 'BackupTimeout', b: 'BackupTimeout', c: 'UnrecoverableError' },
      want: { status: 'False', reason: 'Failed', message: 'Backup failed for all clusters', failed: ['a', 'b', 'c'], finished: true },
    },
    {
      name: 'spokes outside the plan do not count',
      states: { a: 'Succeeded', b: 'Succeeded', c: 'Succeeded', d: 'Active' },
      want: { reason: 'BackupCompleted', finished: true },
    },
  ];
  test.each(rows)('$name', ({ states, want }) => {
    expect(rollUpBackup(['a', 'b', 'c'], new Map(Object.entries(states)))).toMatchObject(want);
  });
});

test('strictly a backup that failed everywhere ends nothing, and a part is a success', () => {
  const states = new Map<string, BackupState>([['a', 'BackupTimeout']]);
  expect(rollUpBackup(['a'], states, true)).toMatchObject({ reason: 'Failed', message: 'Backup failed for all clusters', finished: false });
  expect(rollUpBackup(['a', 'b'], states.set('b', 'Succeeded'), true)).toMatchObject({
    status: 'True',
    reason: 'PartiallyDone',
    finished: true,
  });
});

describe('status.backup', () => {
  const now = new Date('2026-02-03T04:05:06.789Z');
  const reportOf = (states: Record<string, [BackupState, string?]>): BackupReport => {
    const spokes = new Map<string, JudgedSpoke<BackupState>>(
      Object.entries(states).map(([cluster, [state, message]]) => [cluster, { state, message }]),
    );
    const all = new Map([...spokes].map(([cluster, { state }]) => [cluster, state]));
    return { rollUp: rollUpBackup([...spokes.keys()], all), clusters: [...spokes.keys()], spokes };
  };

  test('begins now, and has begun ever since', () => {
    const first = describeBackup(undefined, reportOf({ a: ['PreparingToStart'] }), { now });
    expect(first).toEqual({ startedAt: '2026-02-03T04:05:06Z', status: { a: 'PreparingToStart' } });
    expect(describeBackup(first, reportOf({ a: ['Active'] }), { now: new Date(0) })).toEqual({
      startedAt: '2026-02-03T04:05:06Z',
      status: { a: 'Active' },
    });
  });

  test('says why clusters wait or failed', () => {
    const report = reportOf({ a: ['BackupTimeout', 'timed out: too long'], b: ['Active', 'last seen running'], c: ['Succeeded'] });
    expect(describeBackup(undefined, report, { now })?.messages).toEqual({ a: 'timed out: too long', b: 'last seen running' });
  });

  test('stays as it was while nothing has begun', () => {
    expect(describeBackup(undefined, reportOf({}), { now })).toBeUndefined();
  });
});
