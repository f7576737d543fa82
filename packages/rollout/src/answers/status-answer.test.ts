import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import type { Seen } from './facts.ts';
import { answerStatus, describePause, describeWindow } from './status-answer.ts';

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

test('a batch that runs on after its window has closed has no more time for it: the latest end stands where the hub has it', () => {
  const skip = <T>(): Seen<T> => ({ kind: 'skipped' });
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: {
      name: 'u',
      namespace: 'ns',
      annotations: { [Annotation.windowSchedule]: '0 6 * * *', [Annotation.windowDuration]: '4h' },
    },
    spec: { clusters: ['a'], remediationStrategy: { maxConcurrency: 1, timeout: 480 } },
    status: {
      conditions: [
        { type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-11-25T06:00:00Z' },
        { type: 'Ready', status: 'False', reason: 'InProgress', message: '', lastTransitionTime: '2026-11-25T06:00:00Z' },
      ],
      remediationPlan: [['a']],
      status: { startedAt: '2026-11-25T06:00:00Z', currentBatch: 1, currentBatchStartedAt: '2026-11-25T07:00:00Z' },
    },
  });
  const unread = { cluster: skip, agentLease: skip, upgradeAt: skip, policyCopy: skip, policy: skip, work: skip };
  expect(answerStatus({ upgrade, now, hub: skip(), ...unread }).ends?.latestAt).toBe('2026-11-25T14:00:00.000Z');
});
