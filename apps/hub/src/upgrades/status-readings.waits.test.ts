import type { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildCluster } from '@flotilla/rollout/testing';
import { expect, test } from 'vitest';
import { describeCleaning } from './status.ts';
import { withWaits } from './status-readings.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const FELL = '2026-01-01T11:30:00Z';
const STARTED = '2026-01-01T11:00:00Z';
const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: STARTED,
});

const upgradeOf = (status: ClusterGroupUpgradeStatus): ClusterGroupUpgrade =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns' },
    spec: { clusters: ['a', 'b'], remediationStrategy: { maxConcurrency: 2 }, managedPolicies: ['p'] },
    status,
  });
const waiting = (before: ClusterGroupUpgradeStatus, status: ClusterGroupUpgradeStatus): ClusterGroupUpgradeStatus =>
  withWaits(upgradeOf(before), status, {
    caches: {
      upgrades: { get: () => undefined },
      clusters: { get: ({ name }): ManagedCluster => buildCluster({ metadata: { name, uid: name, labels: { name } } }) },
    },
    fallenSince: new Map([['b', Date.parse(FELL)]]),
    now: NOW,
  });

/** Both clusters remediate the only policy. */
const RUNNING: ClusterGroupUpgradeStatus = {
  conditions: [condition('Ready', 'False', 'InProgress'), condition('Progressing', 'True', 'InProgress')],
  remediationPlan: [['a', 'b']],
  managedPoliciesForUpgrade: [{ name: 'p', namespace: 'ns' }],
  status: {
    startedAt: STARTED,
    currentBatch: 1,
    currentBatchStartedAt: STARTED,
    currentBatchRemediationProgress: { a: { state: 'InProgress', policyIndex: 0 }, b: { state: 'InProgress', policyIndex: 0 } },
  },
};

test('a status has waits as long as clusters wait, and since when they fell back', () => {
  const told = waiting(RUNNING, RUNNING);
  expect(told.waits).toEqual([{ cause: 'policy', for: 'policy p to be compliant', clusters: 2, names: ['a', 'b'], since: FELL }]);
  const complete = waiting(told, {
    ...told,
    clusters: [
      { name: 'a', state: 'complete' },
      { name: 'b', state: 'complete' },
    ],
  });
  expect(complete.waits).toBeUndefined();
});

test('a verdict ends the waits, also of clusters without a record, and so does the clean-up of a deleted upgrade', () => {
  const told = waiting(RUNNING, RUNNING);
  const failed = { ...told, conditions: [condition('Succeeded', 'False', 'TimedOut')] };
  expect(waiting(told, failed).waits).toBeUndefined();
  expect(told.waits).toHaveLength(1);
  expect(describeCleaning(upgradeOf(told), new Map()).waits).toBeUndefined();
});
