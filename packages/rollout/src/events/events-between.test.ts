import type { Condition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { describe, expect, test } from 'vitest';
import { eventsBetween } from './events-between.ts';

type Status = ClusterGroupUpgradeStatus;

const upgrade = buildClusterGroupUpgrade('cgu');
const at = '2026-01-01T00:00:00Z';
const condition = (type: string, status: Condition['status'], reason: string, message = 'x'): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: at,
});
const selected = condition(ClusterGroupUpgradeCondition.clustersSelected, 'True', 'ClusterSelectionCompleted');
const running = condition(ClusterGroupUpgradeCondition.progressing, 'True', 'InProgress');
const succeeded = condition(ClusterGroupUpgradeCondition.succeeded, 'True', 'Completed');
const timedOut = condition(ClusterGroupUpgradeCondition.succeeded, 'False', 'TimedOut');
const failed = condition(ClusterGroupUpgradeCondition.succeeded, 'False', 'Failed');

/** A status of an upgrade that has been seen before. */
const given = (status: Partial<Status>, ...conditions: Condition[]): Status => ({
  status: {},
  ...status,
  conditions: [selected, ...conditions],
});
const plan = [['a', 'b'], ['c']];
type Progress = Status['status']['currentBatchRemediationProgress'];
/** A running upgrade in a batch that has started. */
const inBatch = (currentBatch: number, progress: Progress, clusters: Status['clusters'] = [], ...conditions: Condition[]): Status =>
  given(
    {
      remediationPlan: plan,
      clusters,
      status: { startedAt: at, currentBatch, currentBatchStartedAt: at, currentBatchRemediationProgress: progress },
    },
    running,
    ...conditions,
  );
const done = (name: string) => ({ name, state: 'complete' });
const late = (name: string) => ({ name, state: 'timedout', currentPolicy: { name: 'p', status: 'NonCompliant' } });
const busy = { state: 'InProgress', policyIndex: 0 };

/** Events in short: action and what it is about. */
function emitted(before: Status | undefined, after: Status): string[] {
  return eventsBetween(before, after, upgrade).map(({ action, annotations }) => {
    const about = annotations['cgu.openshift.io/cluster-name'] ?? annotations['cgu.openshift.io/batch-clusters'];
    return about === undefined ? action : `${action} ${about}`;
  });
}

interface Row {
  readonly name: string;
  readonly before: Status | undefined;
  readonly after: Status;
  readonly want: readonly string[];
}

describe('a rollout', () => {
  const prepared = given({ remediationPlan: plan, status: { startedAt: at } }, running);
  const rows: readonly Row[] = [
    { name: 'is created once', before: undefined, after: given({}), want: ['BuildingRemediationPlan'] },
    { name: 'whose status stays says nothing', before: given({}), after: given({}), want: [] },
    {
      name: 'starts when its time does',
      before: given({ remediationPlan: plan }),
      after: prepared,
      want: ['RemediationStarted'],
    },
    {
      name: 'records clusters that comply already without a word',
      before: prepared,
      after: given(
        {
          remediationPlan: plan,
          clusters: [done('z')],
          status: { startedAt: at, currentBatchRemediationProgress: { z: { state: 'Completed' } } },
        },
        running,
      ),
      want: [],
    },
    {
      name: 'starts its first batch',
      before: prepared,
      after: inBatch(1, { a: busy, b: { state: 'NotStarted' } }),
      want: ['RemediationInBatchStarted a,b', 'RemediationInClusterStarted a'],
    },
    {
      name: 'has a cluster that completes, before its record and not again with it',
      before: inBatch(1, { a: busy, b: busy }),
      after: inBatch(1, { a: { state: 'Completed' }, b: busy }),
      want: ['RemediationInClusterCompleted a'],
    },
    {
      name: 'records a completed cluster without a word',
      before: inBatch(1, { a: { state: 'Completed' }, b: busy }),
      after: inBatch(1, { a: { state: 'Completed' }, b: busy }, [done('a')]),
      want: [],
    },
    {
      name: 'hands over to the next batch in one pass',
      before: inBatch(1, { a: { state: 'Completed' }, b: busy }, [done('a')]),
      after: inBatch(2, { c: busy }, [done('a'), done('b')]),
      want: [
        'RemediationInClusterCompleted b',
        'RemediationInBatchCompleted a,b',
        'RemediationInBatchStarted c',
        'RemediationInClusterStarted c',
      ],
    },
    {
      name: 'ends a batch and waits before the next',
      before: inBatch(1, { a: busy, b: busy }),
      after: given({ remediationPlan: plan, clusters: [done('a'), done('b')], status: { startedAt: at, currentBatch: 2 } }, running),
      want: ['RemediationInClusterCompleted a', 'RemediationInClusterCompleted b', 'RemediationInBatchCompleted a,b'],
    },
    {
      name: 'starts the batch it waited with',
      before: given({ remediationPlan: plan, clusters: [done('a'), done('b')], status: { startedAt: at, currentBatch: 2 } }, running),
      after: inBatch(2, { c: busy }, [done('a'), done('b')]),
      want: ['RemediationInBatchStarted c', 'RemediationInClusterStarted c'],
    },
    {
      name: 'goes on after a batch that timed out',
      before: inBatch(1, { a: busy, b: busy }),
      after: inBatch(2, { c: busy }, [done('a'), late('b')]),
      want: [
        'RemediationInClusterCompleted a',
        'RemediationInBatchTimeout',
        'RemediationInBatchStarted c',
        'RemediationInClusterStarted c',
      ],
    },
    {
      name: 'goes from the start to the end in one pass',
      before: prepared,
      after: inBatch(2, {}, [done('a'), done('b'), done('c')], succeeded),
      want: [
        'RemediationInBatchStarted a,b',
        'RemediationInClusterStarted a',
        'RemediationInClusterCompleted a',
        'RemediationInClusterStarted b',
        'RemediationInClusterCompleted b',
        'RemediationInBatchCompleted a,b',
        'RemediationInBatchStarted c',
        'RemediationInClusterStarted c',
        'RemediationInClusterCompleted c',
        'RemediationInBatchCompleted c',
        'RemediationCompleted',
      ],
    },
    {
      name: 'ends with a verdict that clears the batch',
      before: inBatch(2, { c: busy }, [done('a'), done('b')]),
      after: given(
        { remediationPlan: plan, clusters: [done('a'), done('b'), done('c')], status: { startedAt: at, completedAt: at } },
        succeeded,
      ),
      want: ['RemediationInClusterCompleted c', 'RemediationInBatchCompleted c', 'RemediationCompleted'],
    },
    {
      name: 'says nothing of an earlier batch when a later one ends',
      before: inBatch(2, { c: busy }, [done('a'), late('b')]),
      after: inBatch(2, { c: { state: 'Completed' } }, [done('a'), late('b'), done('c')], succeeded),
      want: ['RemediationInClusterCompleted c', 'RemediationInBatchCompleted c', 'RemediationCompleted'],
    },
    {
      name: 'times out in its first batch, and the second never starts',
      before: inBatch(1, { a: busy, b: busy }),
      after: inBatch(1, {}, [late('a'), late('b')], timedOut),
      want: ['RemediationInBatchTimeout', 'RemediationTimeout'],
    },
    {
      name: 'times out in the pass that starts it',
      before: prepared,
      after: given({ remediationPlan: plan, clusters: [late('a'), late('b')], status: { startedAt: at } }, timedOut),
      want: [
        'RemediationInBatchStarted a,b',
        'RemediationInClusterStarted a',
        'RemediationInClusterStarted b',
        'RemediationInBatchTimeout',
        'RemediationTimeout',
      ],
    },
    {
      name: 'times out before its first batch',
      before: prepared,
      after: given({ remediationPlan: plan, clusters: [{ name: 'a', state: 'timedout' }], status: { startedAt: at } }, timedOut),
      want: ['RemediationTimeout'],
    },
    {
      name: 'times out while it waits between batches',
      before: given({ remediationPlan: plan, clusters: [done('a'), done('b')], status: { startedAt: at, currentBatch: 2 } }, running),
      after: given({ remediationPlan: plan, clusters: [done('a'), done('b')], status: { startedAt: at, currentBatch: 2 } }, timedOut),
      want: ['RemediationTimeout'],
    },
    {
      name: 'goes on without a cluster that disappeared, whose batch is then not said to be compliant',
      before: inBatch(1, { a: busy, b: busy }),
      after: inBatch(2, { c: busy }, [{ name: 'a', state: 'failed' }, done('b')]),
      want: [
        'RemediationInClusterFailed a',
        'RemediationInClusterCompleted b',
        'RemediationInBatchStarted c',
        'RemediationInClusterStarted c',
      ],
    },
    {
      name: 'fails with the time-out event when a canary disappears',
      before: inBatch(1, { a: busy, b: busy }),
      after: inBatch(1, { a: busy, b: busy }, [{ name: 'a', state: 'failed' }], failed),
      want: ['RemediationInClusterFailed a', 'RemediationTimeout'],
    },
    {
      name: 'that has nothing to do succeeds at once',
      before: given({}),
      after: given({ status: { startedAt: at } }, succeeded),
      want: ['RemediationStarted', 'RemediationCompleted'],
    },
    {
      name: 'that has ended says nothing any more',
      before: inBatch(2, { c: { state: 'Completed' } }, [done('a'), done('b')], succeeded),
      after: given({ remediationPlan: plan, clusters: [done('a'), done('b'), done('c')], status: { completedAt: at } }, succeeded),
      want: [],
    },
  ];
  test.each(rows)('$name', ({ before, after, want }) => expect(emitted(before, after)).toEqual(want));

  test('counts by its plan, and lists who timed out', () => {
    const events = eventsBetween(inBatch(1, { a: busy, b: busy }), inBatch(1, {}, [late('b'), done('a')], timedOut), upgrade);
    expect(events.map(({ annotations }) => annotations)).toEqual([
      { 'cgu.openshift.io/event-type': 'cluster', 'cgu.openshift.io/cluster-name': 'a' },
      {
        'cgu.openshift.io/event-type': 'batch',
        'cgu.openshift.io/timedout-clusters': 'b',
        'cgu.openshift.io/timedout-clusters-count': '1',
        'cgu.openshift.io/batch-clusters-count': '2',
        'cgu.openshift.io/total-clusters-count': '3',
      },
      {
        'cgu.openshift.io/event-type': 'global',
        'cgu.openshift.io/timedout-clusters': 'b',
        'cgu.openshift.io/timedout-clusters-count': '1',
        'cgu.openshift.io/total-clusters-count': '3',
      },
    ]);
  });
});

describe('a phase before the rollout', () => {
  const caching = (reason: string, status: Condition['status'] = 'False') =>
    condition(ClusterGroupUpgradeCondition.precachingSucceeded, status, reason);
  const saving = (reason: string, status: Condition['status'] = 'False') =>
    condition(ClusterGroupUpgradeCondition.backupSucceeded, status, reason);
  const precaching = { status: { a: 'Succeeded', b: 'PrecacheTimeout', c: 'Active' } } as const;
  const rows: readonly Row[] = [
    { name: 'starts', before: given({}), after: given({}, caching('InProgress')), want: ['PrecachingStarted'] },
    {
      name: 'fails on a cluster, once',
      before: given({ precaching: { status: { b: 'Active' } } }, caching('InProgress')),
      after: given({ precaching }, caching('InProgress')),
      want: ['PrecachingInClusterFailed b'],
    },
    {
      name: 'that cannot go on with a cluster says so, whatever else is waited for',
      before: given({ precaching: { status: { a: 'NotStarted' }, messages: { a: 'waits for others' } } }, caching('InProgress')),
      after: given(
        { precaching: { status: { a: 'NotStarted', b: 'Active' }, messages: { a: 'cannot go on: no', b: 'waits' } } },
        caching('InProgress'),
      ),
      want: ['PrecachingInClusterImpeded a'],
    },
    {
      name: 'that cannot go on says so once',
      before: given({ precaching: { status: { a: 'NotStarted' }, messages: { a: 'cannot go on: no' } } }, caching('InProgress')),
      after: given({ precaching: { status: { a: 'NotStarted' }, messages: { a: 'cannot go on: never' } } }, caching('InProgress')),
      want: [],
    },
    {
      name: 'that goes on with a failed cluster says nothing',
      before: given({ precaching }, caching('InProgress')),
      after: given({ precaching: { status: { ...precaching.status, c: 'Succeeded' } } }, caching('InProgress')),
      want: [],
    },
    {
      name: 'is done in part; its failed clusters have not disappeared',
      before: given({ precaching }, caching('InProgress')),
      after: given(
        { precaching: { status: { ...precaching.status, c: 'Succeeded' } }, clusters: [{ name: 'b', state: 'failed' }] },
        caching('PartiallyDone', 'True'),
      ),
      want: ['PrecachingPartiallyDone'],
    },
    {
      name: 'is done everywhere',
      before: given({}, caching('InProgress')),
      after: given({}, caching('PrecachingCompleted', 'True')),
      want: ['PrecachingCompleted'],
    },
    {
      name: 'fails everywhere, and the upgrade with it',
      before: given({ precaching: { status: { a: 'Active' } } }, caching('InProgress')),
      after: given(
        { precaching: { status: { a: 'UnrecoverableError' } }, clusters: [{ name: 'a', state: 'failed' }] },
        caching('Failed'),
        failed,
      ),
      want: ['PrecachingInClusterFailed a', 'PrecachingFailed', 'RemediationTimeout'],
    },
    {
      name: 'may be the backup, from start to end in one pass',
      before: given({}),
      after: given({ backup: { status: { a: 'Succeeded', b: 'BackupTimeout' } } }, saving('PartiallyDone', 'True')),
      want: ['BackupStarted', 'BackupInClusterFailed b', 'BackupPartiallyDone'],
    },
  ];
  test.each(rows)('$name', ({ before, after, want }) => expect(emitted(before, after)).toEqual(want));

  test('says why a cluster failed, and counts all that took part', () => {
    const before = given(
      { remediationPlan: plan, precaching: { status: { a: 'Succeeded', b: 'Active', c: 'Succeeded' } } },
      caching('InProgress'),
    );
    const after = given(
      {
        remediationPlan: [['a'], ['c']],
        precaching: { status: { a: 'Succeeded', b: 'UnrecoverableError', c: 'Succeeded' }, messages: { b: 'no space left' } },
      },
      caching('PartiallyDone', 'True'),
    );
    const events = eventsBetween(before, after, upgrade);
    expect(events.map(({ note }) => note)).toEqual([
      'ClusterGroupUpgrade cgu: pre-caching failed on cluster b: UnrecoverableError: no space left',
      'ClusterGroupUpgrade cgu: pre-caching failed on 1 clusters; the others go on',
    ]);
    expect(events[1]?.annotations).toMatchObject({
      'cgu.openshift.io/failed-clusters': 'b',
      'cgu.openshift.io/total-clusters-count': '3',
    });
  });
});

describe('a window', () => {
  const waiting = (message: string) => given({}, condition(ClusterGroupUpgradeCondition.progressing, 'False', 'WaitingForWindow', message));
  const rows: readonly Row[] = [
    { name: 'is waited for once', before: given({}), after: waiting('starts at 10'), want: ['WaitingForWindow'] },
    { name: 'that stays is not told again', before: waiting('starts at 10'), after: waiting('starts at 10'), want: [] },
    { name: 'that is moved is told again', before: waiting('starts at 10'), after: waiting('starts at 11'), want: ['WaitingForWindow'] },
    { name: 'that opens says nothing', before: waiting('starts at 10'), after: given({}, running), want: [] },
  ];
  test.each(rows)('$name', ({ before, after, want }) => expect(emitted(before, after)).toEqual(want));
});

describe('a pause', () => {
  const paused = (message: string) => given({}, condition(ClusterGroupUpgradeCondition.paused, 'True', 'Paused', message));
  const rows: readonly Row[] = [
    { name: 'is told once', before: given({}), after: paused('Paused'), want: ['Paused'] },
    { name: 'that lasts is not told again', before: paused('Paused'), after: paused('Paused'), want: [] },
    { name: 'with another reason is told again', before: paused('Paused'), after: paused('Paused: freeze'), want: ['Paused'] },
    { name: 'that is taken back is told', before: paused('Paused'), after: given({}, running), want: ['Resumed'] },
  ];
  test.each(rows)('$name', ({ before, after, want }) => expect(emitted(before, after)).toEqual(want));
});
