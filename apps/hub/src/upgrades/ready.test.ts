import type { Condition } from '@flotilla/api';
import { expect, test } from 'vitest';
import { withReading } from './ready.ts';

const before = '2026-01-01T00:00:00Z';
const now = new Date('2026-01-01T00:05:00Z');
const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: `${reason}.`,
  lastTransitionTime: before,
});
const valid = [condition('ClustersSelected', 'True', 'ClusterSelectionCompleted'), condition('Validated', 'True', 'ValidationCompleted')];

test.each([
  { name: 'a new upgrade is not read', given: [], want: [] },
  {
    name: 'one that waits is not ready',
    given: [...valid, condition('Progressing', 'False', 'WaitingForWindow')],
    want: ['Ready False WaitingForWindow'],
  },
  {
    name: 'one that runs is not ready',
    given: [...valid, condition('Progressing', 'True', 'InProgress')],
    want: ['Ready False InProgress'],
  },
  {
    name: 'one that is paused is not ready, and needs no correction',
    given: [...valid, condition('Progressing', 'True', 'InProgress'), condition('Paused', 'True', 'Paused')],
    want: ['Ready False Paused'],
  },
  {
    name: 'one that is refused is stalled',
    given: [condition('ClustersSelected', 'False', 'ClusterNotFound')],
    want: ['Ready False ClusterNotFound', 'Stalled True ClusterNotFound'],
  },
  {
    name: 'one that failed is stalled',
    given: [...valid, condition('Progressing', 'False', 'Completed'), condition('Succeeded', 'False', 'TimedOut')],
    want: ['Ready False TimedOut', 'Stalled True TimedOut'],
  },
  {
    name: 'one that is done is ready, whatever was refused after its start',
    given: [condition('Validated', 'False', 'InvalidWindow'), condition('Succeeded', 'True', 'Completed')],
    want: ['Ready True Completed'],
  },
])('$name', ({ given, want }) => {
  const all = withReading(given, { now, generation: 3 });
  const own = all.slice(0, all.length - given.length);
  expect(own.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual(want);
  expect(own.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
  expect(all.slice(own.length)).toEqual(given);
});

test('a second reading changes nothing but the time of what has changed', () => {
  const first = withReading([condition('ClustersSelected', 'False', 'ClusterNotFound')], { now: new Date(before), generation: 1 });
  expect(withReading(first, { now, generation: 1 })).toEqual(first);
  const mended = withReading([...first.slice(0, 2), ...valid], { now, generation: 2 });
  expect(mended).toMatchObject([{ type: 'Ready', status: 'False', lastTransitionTime: before, observedGeneration: 2 }, {}, {}]);
});
