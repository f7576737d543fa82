import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { expect, test } from 'vitest';
import { estimateEnd, leastLeftMs } from './estimate.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString();
const ms = (minute: number): number => Date.parse(at(minute));
const MINUTE = 60_000;

const upgrade = (status: object, annotations: Record<string, string> = {}, timeout = 240) => ({
  ...buildClusterGroupUpgrade('u', { remediationStrategy: { maxConcurrency: 1, timeout } }, { annotations }),
  status: ClusterGroupUpgradeStatus.parse({ remediationPlan: [['a'], ['b'], ['c'], ['d']], status: { startedAt: at(0), ...status } }),
});
/** Windows of 15 minutes, one each half an hour. */
const windows = { [Annotation.windowSchedule]: '*/30 * * * *', [Annotation.windowDuration]: '15m' };

test.each([
  { name: 'before the first batch', status: {}, want: undefined, left: undefined },
  { name: 'in the first batch, ten minutes in', status: { currentBatch: 1, currentBatchStartedAt: at(20) }, want: undefined, left: 30 },
  { name: 'in the third batch', status: { currentBatch: 3, currentBatchStartedAt: at(24) }, want: ms(48), left: 18 },
  {
    name: 'in a batch that takes longer than those before',
    status: { currentBatch: 3, currentBatchStartedAt: at(2) },
    want: ms(4),
    left: 28,
  },
  { name: 'in the last batch', status: { currentBatch: 4, currentBatchStartedAt: at(15) }, want: ms(20), left: 0 },
  {
    name: 'in the third batch, after a pause before it and one in it',
    status: { currentBatch: 3, currentBatchStartedAt: at(20), pausedSeconds: 600, currentBatchPausedSeconds: 240 },
    want: ms(24) + 2 * 7 * MINUTE,
    left: 8,
  },
  {
    name: 'in a pause that lasts',
    status: { currentBatch: 2, currentBatchStartedAt: at(10), pausedAt: at(12) },
    want: ms(40),
    left: 28,
  },
  { name: 'between batches', status: { currentBatch: 3 }, want: undefined, left: undefined },
  {
    name: 'after the end',
    status: { currentBatch: 4, currentBatchStartedAt: at(15), completedAt: at(20) },
    want: undefined,
    left: undefined,
  },
])('$name the end and the time left are told by the batches before', ({ status, want, left }) => {
  expect(estimateEnd(upgrade(status))).toBe(want);
  expect(leastLeftMs(upgrade(status), ms(30))).toBe(left === undefined ? undefined : left * MINUTE);
});

test('time in which a recurring window was closed is no time of a batch', () => {
  const waited = upgrade({ currentBatch: 2, currentBatchStartedAt: at(35) }, windows);
  expect(estimateEnd(waited)).toBe(ms(35) + 3 * 20 * MINUTE);
  expect(leastLeftMs(waited, ms(60))).toBe(10 * MINUTE + 2 * 20 * MINUTE);
});

test.each([
  { name: 'while it runs', status: { currentBatch: 2, currentBatchStartedAt: at(30) }, want: ms(60) },
  {
    name: 'in a pause, as it was when that began',
    status: { currentBatch: 2, currentBatchStartedAt: at(30), pausedAt: at(40) },
    want: ms(60),
  },
  {
    name: 'after a pause of ten minutes',
    status: { currentBatch: 2, currentBatchStartedAt: at(30), pausedSeconds: 600, currentBatchPausedSeconds: 600 },
    want: ms(70),
  },
])('no estimate lies beyond the time-out $name', ({ status, want }) => {
  expect(estimateEnd(upgrade(status, {}, 60))).toBe(want);
});
