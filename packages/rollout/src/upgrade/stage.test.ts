import { ClusterGroupUpgrade, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { isTurningPoint, stateOf } from './stage.ts';

const TIME = '2026-01-01T00:00:00Z';
const condition = (type: string, status: 'True' | 'False') => ({ type, status, reason: 'R', message: 'm', lastTransitionTime: TIME });
const RUNS = condition('Progressing', 'True');
const HAS_ENDED = condition('Succeeded', 'False');

interface Row {
  name: string;
  conditions?: object[];
  status?: object;
  deleted?: true;
  want: string;
}

test.each<Row>([
  { name: 'nothing stored', want: 'validating' },
  { name: 'a gate that refuses', conditions: [condition('Progressing', 'False')], want: 'validating' },
  { name: 'a start', conditions: [RUNS], status: { startedAt: TIME }, want: 'preparing' },
  { name: 'a batch that is held', conditions: [RUNS], status: { currentBatch: 2 }, want: 'gated' },
  { name: 'a batch', conditions: [RUNS], status: { currentBatch: 2, currentBatchStartedAt: TIME }, want: 'batch' },
  { name: 'a verdict', conditions: [HAS_ENDED], status: { currentBatch: 2 }, want: 'ended' },
  { name: 'a verdict, and all is clean', conditions: [HAS_ENDED], status: { completedAt: TIME }, want: 'cleaned' },
  { name: 'a deletion', conditions: [RUNS], status: { currentBatch: 1 }, deleted: true, want: 'ended' },
  { name: 'a deletion when all was clean', conditions: [HAS_ENDED], status: { completedAt: TIME }, deleted: true, want: 'ended' },
])('$name: $want', ({ conditions, status = {}, deleted, want }) => {
  const upgrade = ClusterGroupUpgrade.schema.parse({
    apiVersion: 'ran.openshift.io/v1alpha1',
    kind: 'ClusterGroupUpgrade',
    metadata: { name: 'a', namespace: 'ns', ...(deleted && { deletionTimestamp: TIME }) },
    status: { conditions, status },
  });
  expect(stateOf(upgrade)).toBe(want);
});

const AT = '2026-01-01T00:00:00Z';
type Progress = ClusterGroupUpgradeStatus['status']['currentBatchRemediationProgress'];

const inBatch = (batch: number, progress: Progress, more: Partial<ClusterGroupUpgradeStatus> = {}): ClusterGroupUpgradeStatus => ({
  ...more,
  status: { startedAt: AT, currentBatch: batch, currentBatchStartedAt: AT, currentBatchRemediationProgress: progress },
});
const busy = { state: 'InProgress', policyIndex: 0 } as const;
const next = { state: 'InProgress', policyIndex: 1 } as const;
const done = { state: 'Completed' } as const;
const succeeded = { type: 'Succeeded', status: 'True', reason: 'Completed', message: 'x', lastTransitionTime: AT } as const;

test.each([
  { name: 'nothing', before: inBatch(1, { a: busy }), after: inBatch(1, { a: busy }), want: false },
  { name: 'a cluster at its next policy', before: inBatch(1, { a: busy }), after: inBatch(1, { a: next }), want: false },
  { name: 'one of two done', before: inBatch(1, { a: busy, b: busy }), after: inBatch(1, { a: done, b: busy }), want: false },
  { name: 'the last of a batch done', before: inBatch(1, { a: done, b: busy }), after: inBatch(1, { a: done, b: done }), want: true },
  {
    name: 'the last of a batch timed out',
    before: inBatch(1, { a: done, b: busy }),
    after: inBatch(1, { a: done, b: busy }, { clusters: [{ name: 'b', state: 'timedout' }] }),
    want: true,
  },
  {
    name: 'one of those who are done recorded',
    before: inBatch(1, { a: done, b: done }),
    after: inBatch(1, { a: done, b: done }, { clusters: [{ name: 'a', state: 'complete' }] }),
    want: false,
  },
  { name: 'the next batch', before: inBatch(1, { a: done }), after: inBatch(2, { b: busy }), want: true },
  { name: 'the first batch', before: { status: { startedAt: AT } }, after: inBatch(1, { a: busy }), want: true },
  { name: 'the end', before: inBatch(1, { a: done }), after: inBatch(1, { a: done }, { conditions: [succeeded] }), want: true },
])('$name: $want', ({ before, after, want }) => expect(isTurningPoint(before, after)).toBe(want));
