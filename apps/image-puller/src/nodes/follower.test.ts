import { BandwidthLimit, systemClock } from '@flotilla/pace';
import { eventually, ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { followLead, MemoryStore, startLead } from '../../testing/memory-spoke.ts';
import { createChannelKey, serveChannel } from './channel.ts';

/** A lead that lets nodes join, answers reports where it is to, and nothing else. */
async function startSilentLead({ answersReports = false } = {}) {
  const key = createChannelKey();
  const joined = { id: 'uid-n1', key: Buffer.alloc(32).toString('base64url'), isBeside: false, bytesPerSecond: 1_000_000 };
  const reported = Promise.withResolvers<void>();
  const broken = Promise.withResolvers<void>();
  const calls: string[] = [];
  const server = await serveChannel({
    address: '127.0.0.1',
    port: 0,
    keyOf: (identity) => key.secretWith(identity),
    handle: async ({ path }, response) => {
      if (path === '/join') return void response.end(JSON.stringify(joined));
      calls.push(path);
      if (path !== '/beat') return;
      if (answersReports) return void response.end(JSON.stringify({ isOver: false, bytesPerSecond: 1_000_000 }));
      reported.resolve();
      response.once('close', () => broken.resolve());
    },
  });
  const place = { address: '127.0.0.1', port: server.port, key: key.publicKey };
  return { place, calls, reported: reported.promise, broken: broken.promise, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test('a follower that has ended reports no more, also when a report was under way', async () => {
  await using lead = await startSilentLead();
  const clock = new ManualClock();
  const { follower } = await followLead(lead.place, 'n1', new MemoryStore(), { clock });
  await lead.reported;
  await follower[Symbol.asyncDispose]();
  await lead.broken;
  // A join takes longer than the failure of the report that was broken off.
  await using _next = await followLead(lead.place, 'n1');
  expect(clock.pending).toBe(0);
});

test('a follower reports while many turns of the cap are waited for', async () => {
  await using lead = await startSilentLead({ answersReports: true });
  await using node = await followLead(lead.place, 'n1');
  for (let turn = 0; turn < 40; turn += 1) void node.follower.take(1).catch(() => undefined);
  const count = (path: string): number => lead.calls.filter((call) => call === path).length;
  await eventually(() => count('/bytes') > 8, 'the turns');
  const before = count('/beat');
  await eventually(() => count('/beat') > before + 1, 'two reports', 10_000);
});

test('a follower hears of a cap that comes and goes, and spends that of its lead', async () => {
  const cap = new BandwidthLimit(undefined, systemClock);
  await using lead = await startLead({ nodes: ['n0', 'n1'], cap });
  await using node = await followLead(lead.place, 'n1');
  expect(await node.follower.take(2 ** 30)).toBe(2 ** 22);
  cap.bytesPerSecond = 3_200_000;
  await eventually(() => node.follower.bytesPerSecond === 3_200_000, 'the cap', 10_000);
  expect(await node.follower.take(2 ** 30)).toBe(100_000);
  await using late = await followLead(lead.place, 'n2');
  expect(late.follower.bytesPerSecond).toBe(3_200_000);
  cap.bytesPerSecond = undefined;
  await eventually(() => node.follower.bytesPerSecond === undefined, 'its end', 10_000);
});
