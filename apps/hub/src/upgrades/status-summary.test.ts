import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { expect, test } from 'vitest';
import { withSummary } from './status-summary.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString().replace('.000', '');
const ended = (status: string) => ({ type: 'Succeeded', status, reason: 'Any', message: '', lastTransitionTime: at(0) });
const plan = { remediationPlan: [['a'], ['b'], ['c']] };
const second = { status: { startedAt: at(0), currentBatch: 2, currentBatchStartedAt: at(10) } };

test.each([
  { name: 'has no plan', status: {}, want: undefined },
  { name: 'waits', status: plan, want: { batch: '0/3', failed: 0 } },
  {
    name: 'pre-caches',
    status: { ...plan, precaching: { status: { a: 'Succeeded', b: 'Active', c: 'UnrecoverableError' } } },
    want: { cached: '1/3', batch: '0/3', failed: 0 },
  },
  {
    name: 'is in its second batch',
    status: { ...plan, ...second, clusters: [{ name: 'a', state: 'complete' }] },
    want: { batch: '2/3', failed: 0, eta: at(30) },
  },
  {
    name: 'has clusters that failed and timed out',
    status: {
      ...plan,
      ...second,
      clusters: [
        { name: 'a', state: 'timedout' },
        { name: 'b', state: 'failed' },
      ],
    },
    want: { batch: '2/3', failed: 2, eta: at(30) },
  },
  { name: 'has its verdict', status: { ...plan, ...second, conditions: [ended('True')] }, want: { batch: '2/3', failed: 0 } },
  {
    name: 'is cleaned, which keeps the last batch',
    status: { ...plan, status: { completedAt: at(40) }, conditions: [ended('True')], summary: { batch: '3/3', eta: at(30) } },
    want: { batch: '3/3', failed: 0 },
  },
])('the summary of an upgrade that $name', ({ status, want }) => {
  const { summary } = withSummary(buildClusterGroupUpgrade('u'), ClusterGroupUpgradeStatus.parse(status));
  expect(summary && JSON.parse(JSON.stringify(summary))).toEqual(want);
});
