import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { ClusterGroupUpgradeStatus as Status } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { newsOf, pauseAfter, sizeOf } from './status-pace.ts';

const progress = (imagesDone: number) => ({ imagesDone, imagesTotal: 9, bytesDone: 1, bytesTotal: 2, bytesPerSecond: 3 });
const status = (precaching: object, more: object = {}): ClusterGroupUpgradeStatus =>
  Status.parse({ precaching: { spec: {}, ...precaching }, ...more });
const PULLING = { status: { a: 'Active', b: 'Active' }, progress: { a: progress(1) } };

test.each([
  { clusters: 1, bytes: 2_000, states: 1000, progress: 1000 },
  { clusters: 500, bytes: 43 * 1024, states: 1000, progress: 2688 },
  { clusters: 2000, bytes: 100 * 1024, states: 1563, progress: 6250 },
  { clusters: 5000, bytes: 293 * 1024, states: 4579, progress: 18_313 },
])('$clusters clusters of which $bytes bytes are told', ({ bytes, states, progress }) => {
  expect([pauseAfter(bytes, 'states'), pauseAfter(bytes, 'progress')]).toEqual([states, progress]);
});

describe('news of the first rank', () => {
  test.each([
    { name: 'the first word', before: undefined, after: status(PULLING), want: 'states' },
    { name: 'a verdict', before: status(PULLING), after: status({ ...PULLING, status: { a: 'Succeeded', b: 'Active' } }), want: 'states' },
    { name: 'why a spoke waits', before: status(PULLING), after: status({ ...PULLING, messages: { a: 'away' } }), want: 'states' },
    { name: 'a plan', before: status(PULLING), after: status(PULLING, { remediationPlan: [['a']] }), want: 'states' },
    {
      name: 'no progress: a spoke is further',
      before: status(PULLING),
      after: status({ ...PULLING, progress: { a: progress(2) } }),
      want: 'progress',
    },
    {
      name: 'no progress: another spoke tells',
      before: status(PULLING),
      after: status({ ...PULLING, progress: { b: progress(2) } }),
      want: 'progress',
    },
    { name: 'no progress: the sum', before: status(PULLING), after: status({ ...PULLING, summary: progress(3) }), want: 'progress' },
  ])('$name: $want', ({ before, after, want }) => expect(newsOf(before, after)).toBe(want));
});

test('the size is that of what is sent', () =>
  expect(sizeOf(status({ messages: { a: 'ü' } }))).toBe(sizeOf(status({ messages: { a: 'xx' } }))));
