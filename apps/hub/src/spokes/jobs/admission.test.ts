import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { Admission } from './admission.ts';

/** Starts spokes that ask again once admitted, as the engine does. */
function start(least: number, names: readonly string[]) {
  const clock = new ManualClock();
  const begun: string[] = [];
  const mayBegin = (cluster: string) => admission.admit(cluster);
  const ask = (cluster: string) => {
    if (mayBegin(cluster) && !begun.includes(cluster)) begun.push(cluster);
  };
  const admission = new Admission({ clock, onAdmitted: ask, least });
  for (const name of names) ask(name);
  return { clock, begun, ask, mayBegin, leave: (cluster: string) => admission.leave(cluster) };
}

test('so many begin at once, and the next ones in order as those get their jobs', async () => {
  const { clock, begun, leave } = start(2, ['a', 'b', 'c', 'd']);
  expect(begun).toEqual(['a', 'b']);
  await clock.advance(6_000);
  leave('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  leave('a');
  leave('c');
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});

test('more begin at once while those that begin have their jobs soon, and fewer when they do not', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `spoke-${index}`);
  const { clock, begun, leave } = start(2, names);
  const next = (count: number) => {
    for (const name of begun.slice(left, left + count)) leave(name);
    left += count;
    return begun.length - left;
  };
  let left = 0;
  await clock.advance(5_999);
  expect(next(2)).toBe(4);
  await clock.advance(5_999);
  expect(next(4)).toBe(8);
  await clock.advance(6_000);
  expect(next(3)).toBe(5);
  await clock.advance(6_000);
  expect(next(5)).toBe(2);
  await clock.advance(6_000);
  expect(next(2)).toBe(2);
});

test('fewer begin at once after spokes that have no job when patience ends', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `spoke-${index}`);
  const { clock, begun, leave } = start(2, names);
  for (const name of begun.slice(0, 2)) leave(name);
  expect(begun).toHaveLength(2 + 4);
  await clock.advance(20_000);
  expect(begun).toHaveLength(2 + 4 + 2);
});

test('silent spokes keep the others back for twenty seconds and no longer', async () => {
  const { clock, begun } = start(2, ['silent', 'dead', 'c', 'd', 'e']);
  await clock.advance(19_999);
  expect(begun).toEqual(['silent', 'dead']);
  await clock.advance(1);
  expect(begun).toEqual(['silent', 'dead', 'c', 'd']);
  await clock.advance(20_000);
  expect(begun).toEqual(['silent', 'dead', 'c', 'd', 'e']);
});

test('a spoke that has begun may go on, however long it takes, and makes room once', async () => {
  const { clock, begun, leave, mayBegin } = start(1, ['slow', 'b', 'c']);
  await clock.advance(20_000);
  expect(begun).toEqual(['slow', 'b']);
  expect(mayBegin('slow')).toBe(true);
  leave('slow');
  expect(begun).toEqual(['slow', 'b']);
});

test('a key that leaves while it waits is skipped', () => {
  const { begun, leave } = start(1, ['a', 'gone', 'c']);
  leave('gone');
  leave('a');
  expect(begun).toEqual(['a', 'c']);
});

test('asking twice takes one turn', async () => {
  const { clock, begun, leave, ask } = start(1, ['a', 'b', 'c']);
  ask('b');
  ask('a');
  await clock.advance(6_000);
  leave('a');
  expect(begun).toEqual(['a', 'b']);
});
