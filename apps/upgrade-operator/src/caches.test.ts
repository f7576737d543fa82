import { ManualClock } from '@flotilla/pace/testing';
import { ApiError, type Client, pause, RuntimeErrorCode } from '@flotilla/runtime';
import { afterEach, expect, test } from 'vitest';
import { createCaches } from './caches.ts';

const stop = new AbortController();
afterEach(() => stop.abort());

const refused = (code: string, status: number, reason: string) =>
  new ApiError(code, 'a call', { status, reason, serverMessage: 'the server could not find the requested resource' });

test('a kind that was served and is not found any more leaves what is known of the cluster', async () => {
  const clock = new ManualClock();
  let isServed = true;
  let lists = 0;
  const expires = async (): Promise<never> => {
    await pause(clock, 1_000);
    throw refused(RuntimeErrorCode.expired, 410, 'Expired');
  };
  const client: Pick<Client, 'list' | 'watch'> = {
    async list(kind) {
      lists++;
      if (!isServed) throw refused(RuntimeErrorCode.notFound, 404, 'NotFound');
      const object = { metadata: { name: 'one', uid: 'u', resourceVersion: '1' }, spec: { clusterID: 'c' } };
      return { items: [kind.schema.parse(object)], resourceVersion: '1' };
    },
    watch: () => ({ [Symbol.asyncIterator]: () => ({ next: expires }) }),
  };
  const { upgradeConfigs: _, ...caches } = createCaches(client as Client, 'o', { clock });
  for (const cache of Object.values(caches)) cache.start(stop.signal);
  const known = () => Object.entries(caches).map(([kind, cache]) => [kind, cache.size]);
  await clock.advance(0);
  const all = known();
  expect(all.filter(([, size]) => size !== 1)).toEqual([]);

  isServed = false;
  lists = 0;
  await clock.advance(60_000);
  expect(lists).toBeGreaterThan(all.length);
  expect(known()).toEqual(all);
});
