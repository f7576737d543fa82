import { expect, test } from 'vitest';
import { EndedTurns } from './status-turns.ts';

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
