import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { ClusterGroupUpgradeStatus as Status } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { EndedTurns, newsOf, pauseAfter, sizeOf } from './status-pace.ts';

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

/** Runs looks at the times that they are told, and returns who had its turn when. */
function run(ended: Readonly<Record<string, string>>, isBusy: (now: number) => boolean = () => false): [string, number][] {
  const turns = new EndedTurns(0);
  const looks = new Map(Object.keys(ended).map((key) => [key, 0]));
  const taken: [string, number][] = [];
  while (looks.size > 0) {
    const [key, now] = [...looks].reduce((first, next) => (next[1] < first[1] ? next : first));
    const waitMs = turns.wait(key, { endedAt: ended[key] ?? '', isBusy: isBusy(now), now });
    if (waitMs > 0) looks.set(key, now + waitMs);
    else {
      looks.delete(key);
      taken.push([key, now]);
    }
  }
  return taken;
}

test('the newest goes first, five a second, after the upgrades that are there have been looked at', () => {
  const ended = { old: '2024', older: '2023', newest: '2026', alike: '2026' };
  expect(run(ended)).toEqual([
    ['alike', 1000],
    ['newest', 1200],
    ['old', 1400],
    ['older', 1600],
  ]);
});

test('all go behind other work', () => {
  expect(run({ a: '2024' }, (now) => now < 5000)).toEqual([['a', expect.toSatisfy((at: number) => at >= 5000 && at <= 5300)]]);
});

test('hundreds go in their order, without a pause that is longer', () => {
  const ended = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`u${at}`, String(1000 + ((at * 31) % 300))]));
  const taken = run(ended);
  expect(taken.map(([key]) => ended[key])).toEqual(Object.values(ended).toSorted().toReversed());
  expect(taken.at(-1)?.[1]).toBe(1000 + 299 * 200);
});
