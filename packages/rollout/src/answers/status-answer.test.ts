import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import type { Seen } from './facts.ts';
import { answerStatus, describePause, describeWindow } from './status-answer.ts';
import { Inquiry } from './why.ts';

const now = Date.parse('2026-11-25T12:00:00Z');
const window = (annotations: object) => describeWindow({ metadata: { name: 'u', annotations: { ...annotations } } }, now);

test.each([
  {
    name: 'one that is yet to open closes at its end',
    annotations: { [Annotation.windowStart]: '2026-11-25T22:00:00Z', [Annotation.windowEnd]: '2026-11-26T02:00:00Z' },
    want: { state: 'closed', opensAt: '2026-11-25T22:00:00.000Z', closesAt: '2026-11-26T02:00:00.000Z' },
  },
  {
    name: 'the next one of a schedule closes after its duration',
    annotations: { [Annotation.windowSchedule]: '0 22 * * *', [Annotation.windowDuration]: '4h' },
    want: { state: 'closed', opensAt: '2026-11-25T22:00:00.000Z', closesAt: '2026-11-26T02:00:00.000Z' },
  },
  {
    name: 'nothing closes one that has no end',
    annotations: { [Annotation.windowStart]: '2026-11-25T22:00:00Z' },
    want: { state: 'closed', opensAt: '2026-11-25T22:00:00.000Z' },
  },
])('$name', ({ annotations, want }) => {
  const { says: _, ...described } = window(annotations);
  expect(described).toEqual(want);
});

test('one that has ended neither opens nor closes', () => {
  expect(window({ [Annotation.windowEnd]: '2026-11-25T11:00:00Z' })).toEqual({ state: 'closed', says: expect.stringContaining('ended') });
});

test('a pause says its reason once a hub has taken it up, and until then that it is a wish', () => {
  const condition = { type: 'Paused', status: 'True', reason: 'Paused', message: 'x', lastTransitionTime: '2026-11-25T11:00:00Z' };
  const paused = (annotations: object, conditions: object[]) =>
    describePause(ClusterGroupUpgrade.schema.parse({ metadata: { name: 'u', annotations }, status: { conditions } }));
  const wish = { [Annotation.paused]: 'drain', [Annotation.pausedReason]: 'freeze' };
  expect([paused({}, []), paused(wish, []), paused(wish, [condition]), paused({}, [condition])]).toEqual([
    undefined,
    'asked for; no hub has taken it up yet',
    'freeze',
    'its end is asked for; no hub has taken it up yet',
  ]);
});

const skip = <T>(): Seen<T> => ({ kind: 'skipped' });
const unread = { cluster: skip, agentLease: skip, upgradeAt: skip, policyCopy: skip, policy: skip, approvals: skip, work: skip };

/** The expected end, at 12:00, of a rollout that began at 06:00. */
const endOf = (timeout: number, { annotations = {}, ...status }: { annotations?: object } & Record<string, unknown>) => {
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', annotations },
    spec: { clusters: ['a'], remediationStrategy: { maxConcurrency: 1, timeout } },
    status: {
      conditions: [
        { type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-11-25T06:00:00Z' },
        { type: 'Ready', status: 'False', reason: 'InProgress', message: '', lastTransitionTime: '2026-11-25T06:00:00Z' },
      ],
      remediationPlan: [['a'], ['b'], ['c']],
      status: { startedAt: '2026-11-25T06:00:00Z', ...status },
    },
  });
  return answerStatus({ upgrade, now, hub: skip(), ...unread }).ends;
};
/** Two batches of three hours are left, one of which has begun. */
const SECOND = { currentBatch: 2, currentBatchStartedAt: '2026-11-25T09:00:00Z' };

test('a batch that runs on after its window has closed has no more time for it: the latest end stands where the hub has it', () => {
  const annotations = { [Annotation.windowSchedule]: '0 6 * * *', [Annotation.windowDuration]: '4h' };
  const ends = endOf(480, { annotations, currentBatch: 1, currentBatchStartedAt: '2026-11-25T07:00:00Z' });
  expect(ends?.latestAt).toBe('2026-11-25T14:00:00.000Z');
});

test.each([
  {
    name: 'is a forecast while it has the time',
    timeout: 600,
    status: SECOND,
    want: { certainty: 'forecast', value: 3 * 3600, why: 'each batch takes what the 1 before took' },
  },
  {
    name: 'is its time-out where its batches would take longer',
    timeout: 400,
    status: SECOND,
    want: { certainty: 'at-most', value: 40 * 60, why: 'it times out then; its batches would take 3 h more' },
  },
  {
    name: 'is what was left when it was paused, where its batches would take longer',
    timeout: 400,
    status: { ...SECOND, pausedAt: '2026-11-25T11:00:00Z' },
    want: { certainty: 'at-most', value: 100 * 60, why: 'it times out then; its batches would take 4 h more' },
  },
  {
    name: 'was due when its time was over',
    timeout: 240,
    status: SECOND,
    want: { certainty: 'at-most', value: 0, why: 'its time was over 2 h ago, and no hub has ended it' },
  },
  {
    name: 'was due when its time was over in its first batch',
    timeout: 240,
    status: { currentBatch: 1, currentBatchStartedAt: '2026-11-25T09:00:00Z' },
    want: { certainty: 'at-most', value: 0, why: 'its time was over 2 h ago, and no hub has ended it' },
  },
  {
    name: 'is not known in its first batch',
    timeout: 600,
    status: { currentBatch: 1, currentBatchStartedAt: '2026-11-25T09:00:00Z' },
    want: { certainty: 'unknown', why: 'no batch has ended yet' },
  },
])('the expected end of a rollout $name', ({ timeout, status, want }) => {
  const window = { [Annotation.windowEnd]: '2026-11-25T23:00:00Z' };
  const ends = endOf(timeout, { annotations: window, ...status });
  expect(ends?.seconds).toEqual(want);
  // A rollout that times out in its window does not fit into it.
  expect(ends?.fitsWindow).toBe(want.certainty === 'forecast' ? true : undefined);
});

describe('the stage of an upgrade that has ended', () => {
  const is = (type: string, status: string, reason: string) => ({
    type,
    status,
    reason,
    message: `${reason}.`,
    lastTransitionTime: '2026-11-25T11:00:00Z',
  });
  const DONE = { name: 'a', state: 'complete' };
  const SUCCESS = [is('Succeeded', 'True', 'Completed')];
  const template = { name: 't', status: { manifests: [] } };

  test.each([
    { name: 'of all', status: { conditions: SUCCESS, clusters: [DONE] }, want: ['done', 'Completed.'] },
    {
      name: 'of a part',
      status: { conditions: [is('Succeeded', 'False', 'PartiallyDone')], clusters: [DONE, { name: 'b', state: 'failed' }] },
      want: ['partial', 'PartiallyDone.'],
    },
    {
      name: 'of a part that the reference calls a success',
      status: {
        conditions: SUCCESS,
        clusters: [DONE, { name: 'b', state: 'failed' }],
        precaching: { status: { b: 'UnrecoverableError' }, messages: { b: 'no space' } },
      },
      want: ['partial', '1 of 2 clusters failed (status.clusters), the first is b: no space'],
    },
    {
      name: 'of a part by the reference itself, which records no cluster that failed pre-caching',
      status: {
        conditions: [is('PrecachingSuceeded', 'True', 'PartiallyDone'), ...SUCCESS],
        clusters: [DONE],
        precaching: { status: { a: 'Succeeded', b: 'PrecacheTimeout' } },
      },
      want: ['partial', '1 of 2 clusters failed (status.clusters), the first is b'],
    },
    {
      name: 'of a part by ManifestWorks, one of which timed out',
      status: { conditions: SUCCESS, clusters: [DONE, { name: 'b', state: 'timedout', currentManifestWork: template }] },
      want: ['partial', '1 of 2 clusters failed (status.clusters), the first is b'],
    },
    {
      name: 'of all, one of which got there after its batch had timed out',
      status: {
        conditions: SUCCESS,
        clusters: [DONE, { name: 'b', state: 'timedout', currentPolicy: { name: 'p', status: 'NonCompliant' } }],
      },
      want: ['done', 'Completed.'],
    },
  ])('$name', ({ status, want }) => {
    const upgrade = ClusterGroupUpgrade.schema.parse({
      metadata: { name: 'u', namespace: 'ns' },
      status: { ...status, status: { completedAt: '2026-11-25T11:00:00Z' } },
    });
    const facts = { upgrade, now, hub: skip<never>(), ...unread };
    const answer = answerStatus(facts);
    expect([answer.stage, answer.says]).toEqual(want);
    expect(new Inquiry(facts).upgrade().cause).toBe(want[0] === 'done' ? 'done' : 'failed');
    if (want[0] === 'partial') expect(answer.failures).not.toEqual([]);
  });
});
