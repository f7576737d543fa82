import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { expect, test } from 'vitest';
import { type Wait, WHOLE_UPGRADE, waitMessage } from '../waits/wait.ts';
import { countOverdue } from './overdue.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();
const wait = (more: Partial<Wait>): string => waitMessage({ cause: 'placement', says: 'a decision', ...more });
const since = (minutes: number) => wait({ since: NOW + minutes * 60_000 });
/** The second of two batches has been running for half an hour; it has an hour and a half. */
const RUNNING = { startedAt: at(-90), currentBatch: 2, currentBatchStartedAt: at(-30) };

test.each<{ name: string; messages: Record<string, string>; times?: object; annotations?: Record<string, string>; want: number }>([
  { name: 'nothing that is no wait', messages: { a: 'it fell back' }, want: 0 },
  { name: 'none that is younger than its batch may become', messages: { a: since(-89) }, want: 0 },
  { name: 'each that is older', messages: { a: since(-91), b: since(-5), [WHOLE_UPGRADE]: since(-105) }, want: 2 },
  { name: 'one whose own end is over', messages: { a: wait({ until: NOW - 1 }), b: wait({ until: NOW + 1 }) }, want: 1 },
  { name: 'none of which nobody knows since when', messages: { a: wait({}) }, want: 0 },
  { name: 'none in a pause', messages: { a: since(-400) }, times: { ...RUNNING, pausedAt: at(-10) }, want: 0 },
  {
    name: 'no time in a pause of the batch',
    messages: { a: since(-149), b: since(-151) },
    times: { ...RUNNING, pausedSeconds: 3_600, currentBatchPausedSeconds: 3_600 },
    want: 1,
  },
  { name: 'one before the first batch by a share of the time', messages: { a: since(-74), b: since(-76) }, times: {}, want: 1 },
  {
    name: 'no time between two windows',
    messages: { a: since(-119), b: since(-121) },
    times: { startedAt: at(-150), currentBatch: 2 },
    // Open from 07:00 to 11:00, closed for the hour before now.
    annotations: { [Annotation.windowSchedule]: '0 7 * * *', [Annotation.windowDuration]: '4h' },
    want: 1,
  },
])('counts $name', ({ messages, times = RUNNING, annotations = {}, want }) => {
  const status = ClusterGroupUpgradeStatus.parse({ remediationPlan: [['a'], ['b']], messages, status: times });
  const spec = { clusters: ['a', 'b'], remediationStrategy: { maxConcurrency: 1, timeout: 150 } };
  expect(countOverdue({ ...buildClusterGroupUpgrade('u', spec, { annotations }), status }, NOW)).toBe(want);
});
