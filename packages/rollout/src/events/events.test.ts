import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { describe, expect, test } from 'vitest';
import { type UpgradeEvents, upgradeEvents } from './events.ts';

const upgrade = buildClusterGroupUpgrade('cgu', {}, { namespace: 'ns', uid: 'u1', resourceVersion: '42' });
const batch = { index: 2, clusters: ['spoke-3', 'spoke-2'] };
const cluster = { apiVersion: 'cluster.open-cluster-management.io/v1', kind: 'ManagedCluster', name: 'spoke-2' };

interface Row {
  readonly name: string;
  readonly make: (events: UpgradeEvents) => unknown;
  /** Type, reason, action, note. */
  readonly says: readonly [string, string, string, string];
  /** Without the prefix `cgu.openshift.io/`. */
  readonly annotations: Record<string, string>;
  readonly related?: unknown;
}

const reference: readonly Row[] = [
  {
    name: 'a new upgrade',
    make: (events) => events.created(),
    says: ['Normal', 'CguCreated', 'BuildingRemediationPlan', 'New ClusterGroupUpgrade found: cgu'],
    annotations: { 'event-type': 'global' },
  },
  {
    name: 'the start',
    make: (events) => events.started(3),
    says: ['Normal', 'CguStarted', 'RemediationStarted', 'ClusterGroupUpgrade cgu started remediating policies'],
    annotations: { 'event-type': 'global', 'total-clusters-count': '5', 'total-batches-count': '3' },
  },
  {
    name: 'the start of a batch',
    make: (events) => events.batchStarted(batch),
    says: ['Normal', 'CguStarted', 'RemediationInBatchStarted', 'ClusterGroupUpgrade cgu: batch index 2 upgrade started'],
    annotations: {
      'event-type': 'batch',
      'batch-clusters': 'spoke-2,spoke-3',
      'batch-clusters-count': '2',
      'total-clusters-count': '5',
    },
  },
  {
    name: 'the start of a cluster',
    make: (events) => events.clusterStarted('spoke-2'),
    says: ['Normal', 'CguStarted', 'RemediationInClusterStarted', 'ClusterGroupUpgrade cgu: cluster spoke-2 upgrade started'],
    annotations: { 'event-type': 'cluster', 'cluster-name': 'spoke-2' },
    related: cluster,
  },
  {
    name: 'the success of a cluster',
    make: (events) => events.clusterCompleted('spoke-2'),
    says: [
      'Normal',
      'CguSuccess',
      'RemediationInClusterCompleted',
      'ClusterGroupUpgrade cgu: cluster spoke-2 upgrade finished successfully',
    ],
    annotations: { 'event-type': 'cluster', 'cluster-name': 'spoke-2' },
    related: cluster,
  },
  {
    name: 'the success of a batch',
    make: (events) => events.batchCompleted(batch),
    says: [
      'Normal',
      'CguSuccess',
      'RemediationInBatchCompleted',
      'ClusterGroupUpgrade cgu: all clusters in the batch index 2 are compliant with managed policies',
    ],
    annotations: {
      'event-type': 'batch',
      'batch-clusters': 'spoke-2,spoke-3',
      'batch-clusters-count': '2',
      'total-clusters-count': '5',
    },
  },
  {
    name: 'the success',
    make: (events) => events.completed(),
    says: ['Normal', 'CguSuccess', 'RemediationCompleted', 'ClusterGroupUpgrade cgu succeeded remediating policies'],
    annotations: { 'event-type': 'global', 'total-clusters-count': '5' },
  },
  {
    name: 'a batch that timed out',
    make: (events) => events.batchTimedOut(batch, ['spoke-3']),
    says: [
      'Warning',
      'CguTimedout',
      'RemediationInBatchTimeout',
      'ClusterGroupUpgrade cgu: some clusters in the batch index 2 timed out remediating policies',
    ],
    annotations: {
      'event-type': 'batch',
      'timedout-clusters': 'spoke-3',
      'timedout-clusters-count': '1',
      'batch-clusters-count': '2',
      'total-clusters-count': '5',
    },
  },
  {
    name: 'an upgrade that timed out',
    make: (events) => events.timedOut(['spoke-9', 'spoke-3']),
    says: ['Warning', 'CguTimedout', 'RemediationTimeout', 'ClusterGroupUpgrade cgu timed-out remediating policies'],
    annotations: {
      'event-type': 'global',
      'timedout-clusters': 'spoke-3,spoke-9',
      'timedout-clusters-count': '2',
      'total-clusters-count': '5',
    },
  },
  {
    name: 'missing clusters',
    make: (events) => events.invalid({ label: 'missing clusters', items: ['a', 'b'], key: 'missing-clusters', counted: true }),
    says: [
      'Warning',
      'CguValidationFailure',
      'RemediationOnHoldDueToValidationFailure',
      'ClusterGroupUpgrade cgu: validation failure (missing clusters): a,b',
    ],
    annotations: { 'missing-clusters': 'a,b', 'missing-clusters-count': '2' },
  },
  {
    name: 'missing policies',
    make: (events) => events.invalid({ label: 'missing policies', items: ['p', 'q'], key: 'missing-policies' }),
    says: [
      'Warning',
      'CguValidationFailure',
      'RemediationOnHoldDueToValidationFailure',
      'ClusterGroupUpgrade cgu: validation failure (missing policies): p,q',
    ],
    annotations: { 'missing-policies': 'p,q' },
  },
];

const own: readonly Row[] = [
  {
    name: 'the start of pre-caching',
    make: (events) => events.phaseStarted('precaching'),
    says: ['Normal', 'CguPrecachingStarted', 'PrecachingStarted', 'ClusterGroupUpgrade cgu: pre-caching started'],
    annotations: { 'event-type': 'global', 'total-clusters-count': '5' },
  },
  {
    name: 'the end of the backup',
    make: (events) => events.phaseCompleted('backup'),
    says: ['Normal', 'CguBackupCompleted', 'BackupCompleted', 'ClusterGroupUpgrade cgu: backup completed on all clusters'],
    annotations: { 'event-type': 'global', 'total-clusters-count': '5' },
  },
  {
    name: 'pre-caching that failed on some clusters',
    make: (events) => events.phasePartlyDone('precaching', ['b', 'a']),
    says: [
      'Warning',
      'CguPrecachingPartiallyDone',
      'PrecachingPartiallyDone',
      'ClusterGroupUpgrade cgu: pre-caching failed on 2 clusters; the others go on',
    ],
    annotations: { 'event-type': 'global', 'failed-clusters': 'a,b', 'failed-clusters-count': '2', 'total-clusters-count': '5' },
  },
  {
    name: 'a backup that failed on all clusters',
    make: (events) => events.phaseFailed('backup', ['a']),
    says: ['Warning', 'CguBackupFailed', 'BackupFailed', 'ClusterGroupUpgrade cgu: backup failed on all clusters'],
    annotations: { 'event-type': 'global', 'failed-clusters': 'a', 'failed-clusters-count': '1', 'total-clusters-count': '5' },
  },
  {
    name: 'a cluster whose pre-caching failed',
    make: (events) => events.phaseFailedOn('precaching', 'spoke-2', 'UnrecoverableError: no space'),
    says: [
      'Warning',
      'CguPrecachingFailed',
      'PrecachingInClusterFailed',
      'ClusterGroupUpgrade cgu: pre-caching failed on cluster spoke-2: UnrecoverableError: no space',
    ],
    annotations: { 'event-type': 'cluster', 'cluster-name': 'spoke-2' },
    related: cluster,
  },
  {
    name: 'a cluster that disappeared',
    make: (events) => events.clusterDisappeared('spoke-2'),
    says: [
      'Warning',
      'CguClusterDisappeared',
      'RemediationInClusterFailed',
      'ClusterGroupUpgrade cgu: cluster spoke-2 is no longer a ManagedCluster and is recorded as failed',
    ],
    annotations: { 'event-type': 'cluster', 'cluster-name': 'spoke-2' },
    related: cluster,
  },
  {
    name: 'a window that is waited for',
    make: (events) => events.waitingForWindow('Waiting for the window'),
    says: ['Normal', 'CguWaitingForWindow', 'WaitingForWindow', 'ClusterGroupUpgrade cgu: Waiting for the window'],
    annotations: { 'event-type': 'global' },
  },
  {
    name: 'a pause',
    make: (events) => events.paused('Paused: change freeze'),
    says: ['Normal', 'CguPaused', 'Paused', 'ClusterGroupUpgrade cgu: Paused: change freeze'],
    annotations: { 'event-type': 'global' },
  },
  {
    name: 'a pause that is taken back',
    make: (events) => events.resumed(),
    says: ['Normal', 'CguResumed', 'Resumed', 'ClusterGroupUpgrade cgu: goes on after a pause'],
    annotations: { 'event-type': 'global' },
  },
];

describe('the event of', () => {
  test.each([...reference, ...own])('$name', ({ make, says, annotations, related }) => {
    const [type, reason, action, note] = says;
    expect(make(upgradeEvents(upgrade, 5))).toEqual({
      type,
      reason,
      action,
      note,
      regarding: {
        apiVersion: 'ran.openshift.io/v1alpha1',
        kind: 'ClusterGroupUpgrade',
        namespace: 'ns',
        name: 'cgu',
        uid: 'u1',
        resourceVersion: '42',
      },
      annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`cgu.openshift.io/${key}`, value])),
      ...(related !== undefined && { related }),
    });
  });
});
