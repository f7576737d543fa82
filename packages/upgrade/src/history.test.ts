import type { UpgradeHistory } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { conditionOf, skippedWhy, withResolvedVersion, withStepEnd } from './history.ts';

const T0 = Date.parse('2026-02-01T10:00:00Z');
const entry: UpgradeHistory = { version: '4.14.12', phase: 'Upgrading', conditions: [] };
const waiting = { kind: 'waiting', reason: 'machine a' } as const;

test('a step that was skipped is not done, says why, and may be waited for again', () => {
  const left = withStepEnd(entry, 'X', { kind: 'skipped', reason: 'a pool is paused' }, T0);
  expect(conditionOf(left, 'X')).toMatchObject({ status: 'False', reason: 'X skipped', message: 'X was skipped: a pool is paused' });
  expect([skippedWhy(left, 'X'), skippedWhy(left, 'Y')]).toEqual(['a pool is paused', undefined]);
  const again = withStepEnd(left, 'X', waiting, T0);
  expect([conditionOf(again, 'X')?.reason, skippedWhy(again, 'X')]).toEqual(['X not done', undefined]);
});

test("a waiting step has the reference's message, and the reason of its wait", () => {
  expect(withStepEnd(entry, 'UpgradeCommenced', waiting, T0).conditions).toEqual([
    {
      type: 'UpgradeCommenced',
      status: 'False',
      reason: 'UpgradeCommenced not done',
      message: 'UpgradeCommenced still in progress',
      waitingFor: 'machine a',
      lastProbeTime: '2026-02-01T10:00:00Z',
      lastTransitionTime: '2026-02-01T10:00:00Z',
      startTime: '2026-02-01T10:00:00Z',
    },
  ]);
});

test('the same again is no change at all', () => {
  const before = withStepEnd(entry, 'UpgradeCommenced', waiting, T0);
  expect(withStepEnd(before, 'UpgradeCommenced', waiting, T0 + 60_000)).toBe(before);
});

test('times move with what they are the time of', () => {
  const began = withStepEnd(entry, 'X', waiting, T0);
  const failed = withStepEnd(began, 'X', { kind: 'failed', message: 'no' }, T0 + 1_000);
  expect(conditionOf(failed, 'X')).toMatchObject({
    message: 'no',
    lastTransitionTime: '2026-02-01T10:00:00Z',
    lastProbeTime: '2026-02-01T10:00:01Z',
  });
  const done = withStepEnd(failed, 'X', { kind: 'done' }, T0 + 2_000);
  expect(conditionOf(done, 'X')).toEqual({
    type: 'X',
    status: 'True',
    reason: 'X done',
    message: 'X is completed',
    startTime: '2026-02-01T10:00:00Z',
    completeTime: '2026-02-01T10:00:02Z',
    lastTransitionTime: '2026-02-01T10:00:02Z',
    lastProbeTime: '2026-02-01T10:00:02Z',
  });
  const again = conditionOf(withStepEnd(done, 'X', { kind: 'failed', message: 'no' }, T0 + 3_000), 'X');
  expect(again).toMatchObject({ status: 'False', reason: 'X done', message: 'no' });
  expect(again).not.toHaveProperty('completeTime');
});

test('a new condition stands first', () => {
  const two = withStepEnd(withStepEnd(entry, 'A', waiting, T0), 'B', waiting, T0);
  expect(two.conditions?.map(({ type }) => type)).toEqual(['B', 'A']);
  expect(withStepEnd(two, 'A', { kind: 'done' }, T0).conditions?.map(({ type }) => type)).toEqual(['B', 'A']);
});

test('the entry of an image becomes that of its version', () => {
  expect(withResolvedVersion([{ phase: 'Pending' }], '4.14.12')).toEqual([{ phase: 'Pending', version: '4.14.12' }]);
  expect(withResolvedVersion([{ phase: 'Pending' }, entry], '4.14.12')).toEqual([{ phase: 'Pending', version: '4.14.12' }, entry]);
  expect(withResolvedVersion([entry, { phase: 'Pending' }], '4.14.12')).toEqual([entry, { phase: 'Pending' }]);
  expect(withResolvedVersion([{ phase: 'Pending' }], '')).toEqual([{ phase: 'Pending' }]);
});
