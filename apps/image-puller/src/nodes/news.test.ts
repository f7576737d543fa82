import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { News } from './news.ts';

/** Waiters by name, and the names of those that were woken. */
function start() {
  const news = new News(new ManualClock());
  const woken: string[] = [];
  const wait = (name: string, about: readonly string[], signal?: AbortSignal) =>
    news.next({ about, ...(signal && { signal }) }).then(() => void woken.push(name));
  return { news, woken, wait };
}

test('of a blob wakes those that wait for it, and each of them once', async () => {
  const { news, woken, wait } = start();
  const waits = [wait('one', ['a', 'x']), wait('both', ['a', 'b'])];
  void wait('other', ['c']);
  void wait('end', []);
  news.tell(['a', 'b']);
  await Promise.all(waits);
  expect(woken.toSorted()).toEqual(['both', 'one']);
});

test('of everything wakes all', async () => {
  const { news, woken, wait } = start();
  const waits = [wait('one', ['a']), wait('end', [])];
  news.tell();
  await Promise.all(waits);
  expect(woken.toSorted()).toEqual(['end', 'one']);
});

test('that never comes is waited for a moment, and no longer than the caller is there', async () => {
  const clock = new ManualClock();
  const news = new News(clock);
  const stop = new AbortController();
  const waits = [news.next({ about: ['a'], signal: stop.signal })];
  stop.abort();
  await Promise.all(waits);
  const later = news.next({ about: ['a'] });
  await clock.advance(500);
  await later;
  await news.next({ about: ['a'], signal: stop.signal });
});
