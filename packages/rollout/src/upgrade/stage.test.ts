import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { stateOf } from './stage.ts';

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
