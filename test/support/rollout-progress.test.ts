import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { newsOf } from './rollout-progress.ts';

const upgrade = (status: Record<string, unknown>) =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'rollout' },
    spec: { remediationStrategy: { maxConcurrency: 2, canaries: ['a'] } },
    status: { remediationPlan: [['a'], ['b', 'c']], status: {}, ...status },
  });
const condition = (type: string, status: 'True' | 'False', reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const complete = (name: string) => ({ name, state: 'complete' });

test.each([
  { name: 'nothing, while it pulls', given: {}, want: [] },
  {
    name: 'what it waits for, before its window',
    given: { conditions: [condition('Progressing', 'False', 'WaitingForWindow', 'Waiting for the window')] },
    want: ['Waiting for the window'],
  },
  { name: 'the batch that runs', given: { status: { currentBatch: 1 } }, want: ['batch 1 of 2, canary: a'] },
  {
    name: 'each cluster that has ended in its batch',
    given: { status: { currentBatch: 2 }, clusters: [complete('a'), { name: 'c', state: 'timedout' }] },
    want: ['batch 1 of 2, canary: a', 'a complete', 'batch 2 of 2: b, c', 'c timedout'],
  },
  {
    name: 'every batch and the end, when there is no current batch any more',
    given: { clusters: ['a', 'b', 'c'].map(complete), conditions: [condition('Succeeded', 'True', 'Completed', 'All done')] },
    want: ['batch 1 of 2, canary: a', 'a complete', 'batch 2 of 2: b, c', 'b complete', 'c complete', 'Completed: All done'],
  },
])('a status tells $name', ({ given, want }) => expect(newsOf(upgrade(given))).toEqual(want));
