import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { PullerExit } from '@flotilla/api/ran';
import { type Clock, systemClock } from '@flotilla/pace';
import { eventually, ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { fillStore, followLead, MemoryRegistry, MemoryStore, REPORT, startLead } from '../../testing/memory-spoke.ts';
import { ChannelClient, ChannelError, createChannelKey } from './channel.ts';
import { Peers } from './peer-blobs.ts';

/** Lead and followers over their real channel, with stores in memory. */

const SIZES = Array.from({ length: 40 }, (_, index) => 20_000 + ((index * 7_919) % 150_000));
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);
const isWhole = (store: MemoryStore, registry: MemoryRegistry): boolean => registry.blobs.every(({ digest }) => store.blobs.has(digest));

test('ten nodes pay the link once', { timeout: 60_000 }, async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 20));
  await using led = await startLead({ nodes: names(10) });
  const sharing = led.lead.sharing();
  const nodes = await Promise.all(
    names(10)
      .slice(1)
      .map((name) => followLead(led.place, name)),
  );
  await sharing.open(led.store);
  await Promise.all([fillStore(led.store, registry, sharing, led), ...nodes.map((node) => node.fill(registry))]);
  expect([led.store, ...nodes.map(({ store }) => store)].every((store) => isWhole(store, registry))).toBe(true);
  console.log(`ten nodes: served ${registry.servedBytes} for ${registry.neededBytes}`);
  expect(registry.servedBytes).toBe(registry.neededBytes);
  const ends = nodes.map(({ follower }) => follower.serveUntilOver(PullerExit.done));
  expect(await led.lead.awaitNodes()).toBe('whole');
  expect(led.lead.sum({ ...REPORT, phase: 'done' }).nodes).toEqual({ total: 10, done: 10, failed: 0, absent: 0 });
  await led.lead.end();
  await Promise.all(ends);
  for (const node of nodes) await node.kill();
});

test('a node that has blobs from before gives them to the others, and nothing is fetched', async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 5));
  const full = new MemoryStore();
  await using led = await startLead({ nodes: ['n0', 'n1', 'n2'] });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  for (const { digest } of registry.blobs) full.blobs.set(digest, Buffer.concat(await Array.fromAsync(registry.read(digest, 0))));
  registry.served.clear();
  await using one = await followLead(led.place, 'n1', full);
  await using other = await followLead(led.place, 'n2');
  await Promise.all([fillStore(led.store, registry, sharing, led), one.fill(registry), other.fill(registry)]);
  expect([registry.servedBytes, isWhole(other.store, registry), isWhole(led.store, registry)]).toEqual([0, true, true]);
});

test('each node is asked once for a blob from before, however many need it', async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 1));
  await using led = await startLead({ nodes: names(6) });
  // Nobody waits for the lead's own node.
  await led.lead.sharing().open(led.store);
  const asked: string[] = [];
  const followers = await Promise.all(
    names(6)
      .slice(1)
      .map(async (name) => {
        const store = new MemoryStore();
        store.size = async () => void asked.push(name);
        return followLead(led.place, name, store);
      }),
  );
  await using stack = new AsyncDisposableStack();
  for (const node of followers) stack.use(node);
  const [blob = expect.fail()] = registry.blobs;
  const sources = followers.map(({ follower }) => follower.sharing().source(blob, led.signal));
  for (const source of sources) source.catch(() => undefined);
  expect(await Promise.race(sources)).toBe('registry');
  expect(asked.toSorted()).toEqual(names(6).slice(1));
});

test('a node whose store does not answer for a while keeps its blobs, and they are not fetched again', { timeout: 60_000 }, async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 5));
  const full = new MemoryStore();
  for (const { digest } of registry.blobs) full.blobs.set(digest, Buffer.concat(await Array.fromAsync(registry.read(digest, 0))));
  registry.served.clear();
  let failures = 3 * registry.blobs.length;
  full.size = async (digest) => {
    failures -= 1;
    if (failures >= 0) throw new Error('the runtime restarts');
    return full.blobs.get(digest)?.length;
  };
  await using led = await startLead({ nodes: ['n0', 'n1'] });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  await using one = await followLead(led.place, 'n1', full);
  await Promise.all([fillStore(led.store, registry, sharing, led), one.fill(registry)]);
  expect([registry.servedBytes, isWhole(led.store, registry)]).toEqual([0, true]);
  expect(failures).toBeLessThan(0);
});

test('a killed puller that comes back goes on where it was, and no finished blob is fetched again', { timeout: 60_000 }, async () => {
  const registry = new MemoryRegistry([3_000_000, 2_000_000, 1_500_000], 4);
  await using led = await startLead({ nodes: ['n0', 'n1'] });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  const first = await followLead(led.place, 'n1');
  const leading = fillStore(led.store, registry, sharing, led);
  const filling = first.fill(registry).catch(() => undefined);
  await eventually(() => registry.servedBytes > registry.neededBytes / 2, 'half of the bytes');
  await first.kill();
  await filling;
  await using again = await followLead(led.place, 'n1', first.store);
  await Promise.all([again.fill(registry), leading]);
  expect(isWhole(again.store, registry) && isWhole(led.store, registry)).toBe(true);
  // A kill costs what was on its way of each blob.
  expect(registry.servedBytes).toBeLessThanOrEqual(registry.neededBytes + registry.blobs.length * 64 * 1024);
});

test('a node that serves wrong bytes spoils nothing: they are not stored, and the blob comes from elsewhere', {
  timeout: 60_000,
}, async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 6));
  await using led = await startLead({ nodes: ['n0', 'n1', 'n2'] });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  const wrong = new MemoryStore();
  for (const { digest, size } of registry.blobs) wrong.blobs.set(digest, randomBytes(size));
  await using hostile = await followLead(led.place, 'n2', wrong);
  for (const blob of registry.blobs) await hostile.follower.sharing().has(blob);
  await using one = await followLead(led.place, 'n1');
  await Promise.all([fillStore(led.store, registry, sharing, led), one.fill(registry)]);
  for (const store of [led.store, one.store])
    for (const { digest, size } of registry.blobs) expect(store.blobs.get(digest)?.length).toBe(size);
  // Each blob once, whatever the hostile node claims: whoever notices first fetches it for the others.
  expect(registry.servedBytes).toBe(registry.neededBytes);
});

test('a node that can keep its blobs no longer lets go of them once another has them, and they are not fetched again', {
  timeout: 60_000,
}, async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 6));
  await using led = await startLead({ nodes: ['n0', 'n1'] });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  await using full = await followLead(led.place, 'n1');
  await full.fill(registry);
  let isGone = false;
  const leaving = full.follower
    .sharing()
    .handOver(led.signal)
    .then(() => {
      isGone = true;
      full.store.blobs.clear();
      void full.follower.serveUntilOver(PullerExit.noSpace);
    });
  const [one, ...rest] = registry.blobs;
  await sharing.source(one ?? expect.fail(), led.signal);
  expect(isGone).toBe(false);
  await fillStore(led.store, registry, sharing, led);
  await leaving;
  expect([isWhole(led.store, registry), registry.servedBytes, rest.length]).toEqual([true, registry.neededBytes, 5]);
  expect(await led.lead.awaitNodes()).toBe('failed');
  await led.lead.end();
});

test('a lead that can keep its blobs no longer waits for the others alike, and not for those that have ended', async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 3));
  await using led = await startLead({ nodes: ['n0', 'n1', 'n2'] });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  await using one = await followLead(led.place, 'n1');
  await using other = await followLead(led.place, 'n2');
  await fillStore(led.store, registry, sharing, led);
  void other.follower.serveUntilOver(PullerExit.done);
  const leaving = sharing.handOver(led.signal);
  await one.fill(registry);
  await leaving;
  expect([isWhole(one.store, registry), registry.servedBytes]).toEqual([true, registry.neededBytes]);
});

test('a node whose call with its port fails once says it again, and is filled', async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 2));
  await using led = await startLead({ nodes: ['n0', 'n1'] });
  await led.lead.sharing().open(led.store);
  let calls = 0;
  const readToken = async (): Promise<string> => {
    calls += 1;
    if (calls === 2) throw new Error('the token cannot be read');
    return 'n1';
  };
  await using one = await followLead(led.place, 'n1', new MemoryStore(), { readToken });
  void one.fill(registry).catch(() => undefined);
  await eventually(() => isWhole(one.store, registry), 'the node to be filled', 20_000);
});

test('a node that is back and not open yet is waited for with its blobs', async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 2));
  let laterMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
  await using led = await startLead({ nodes: ['n0', 'n1'], clock });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  const killed = await followLead(led.place, 'n1');
  await killed.fill(registry);
  await killed.kill();
  let isLet = false;
  let calls = 0;
  const readToken = async (): Promise<string> => {
    calls += 1;
    if (calls > 1 && !isLet) throw new Error('the token cannot be read');
    return 'n1';
  };
  await using _again = await followLead(led.place, 'n1', killed.store, { readToken });
  // Nobody is waited for any more because the run has just begun.
  laterMs = 11_000;
  const source = sharing.source(registry.blobs[0] ?? expect.fail(), led.signal);
  await eventually(() => calls > 2, 'the node to come again in vain');
  isLet = true;
  expect(await source).toMatchObject([{ id: 'uid-n1' }]);
});

test('nodes that can only be counted stay whole when they are silent after the end', async () => {
  let laterMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
  await using led = await startLead({ nodes: ['n0', 'n1'], isCounted: true, clock });
  await using one = await followLead(led.place, 'n1');
  const end = one.follower.serveUntilOver(PullerExit.done);
  expect(await led.lead.awaitNodes()).toBe('whole');
  await led.lead.end();
  await end;
  await one.kill();
  laterMs = 60_000;
  expect(led.lead.sum({ ...REPORT, phase: 'done' })).toMatchObject({ phase: 'done', nodes: { total: 2, done: 2 } });
  expect(led.lead.filled()).toEqual([{ name: 'n1', uid: 'uid-n1' }]);
});

test('a lead that is gone is given up as soon as another has taken its place', { timeout: 30_000 }, async () => {
  const led = await startLead({ nodes: ['n0', 'n1'] });
  let isReplaced = false;
  await using one = await followLead(led.place, 'n1', new MemoryStore(), { isReplaced: () => isReplaced });
  await led[Symbol.asyncDispose]();
  const goneAt = performance.now();
  isReplaced = true;
  await eventually(() => one.follower.lost.aborted, 'the lead to be given up', 20_000);
  expect(performance.now() - goneAt).toBeGreaterThan(3_000);
});

test('a stranger gets nothing: neither with another key, nor without any, nor with a token of its own', async () => {
  const registry = new MemoryRegistry([10_000]);
  await using led = await startLead({ nodes: ['n0'] });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  await fillStore(led.store, registry, sharing, led);
  const [blob] = registry.blobs;
  const { address, port, key } = led.place;

  // The lead's public key lets a stranger speak to it, but not join without a token.
  const own = createChannelKey();
  using client = new ChannelClient({ address, port }, { identity: own.publicKey, psk: own.secretWith(key) ?? Buffer.alloc(0) });
  const ask = { method: 'POST', timeoutMs: 5_000 } as const;
  const join = await client.open({ ...ask, path: '/join', body: { token: 'stranger', node: 'n9', isOpen: true } });
  const order = await client.open({ ...ask, path: '/ask', body: blob });
  expect([join.statusCode, order.statusCode]).toEqual([403, 401]);
  for (const answer of [join, order]) expect(await Array.fromAsync(answer)).toEqual([]);

  await using friend = await followLead(led.place, 'n1');
  const from = await friend.follower.sharing().source(blob ?? expect.fail(), led.signal);
  const [peer] = from === 'registry' ? [] : from;
  using strangers = new Peers({ identity: 'node', psk: randomBytes(32) });
  expect(await strangers.hasBlob(peer ?? expect.fail(), blob?.digest ?? '')).toBeUndefined();
  for (const each of [port, peer?.port ?? 0]) {
    const socket = connectTls({ host: address, port: each, rejectUnauthorized: false });
    await expect(new Promise((resolve, reject) => socket.on('secureConnect', resolve).on('error', reject))).rejects.toThrow();
  }
});

test('nodes that are added after all were there hold up no question', async () => {
  const registry = new MemoryRegistry(SIZES.slice(0, 2));
  const nodes = ['n0', 'n1'];
  // Nothing ends by time: a question that is held up is held up for ever.
  await using led = await startLead({ nodes, clock: { ...systemClock, now: () => 0 } });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  await using _one = await followLead(led.place, 'n1');
  const [first = expect.fail(), second = expect.fail()] = registry.blobs;
  expect(await sharing.source(first, led.signal)).toBe('registry');
  // The link is idle again, so whoever asks fetches.
  await sharing.has(first);
  nodes.push('n2', 'n3');
  await using _other = await followLead(led.place, 'n2');
  expect(await sharing.source(second, led.signal)).toBe('registry');
});

test('a node that was added while the nodes were read is not forgotten by that reading', async () => {
  const nodes = ['n0', 'n1'];
  const clock = new ManualClock();
  const held = Promise.withResolvers<void>();
  let readings = 0;
  const holdExpected = async (): Promise<void> => {
    readings += 1;
    if (readings === 2) await held.promise;
  };
  await using led = await startLead({ nodes, clock, holdExpected });
  await clock.advance(16_000);
  expect(readings).toBe(2);
  nodes.push('n2');
  await using _added = await followLead(led.place, 'n2');
  expect(led.lead.sum(REPORT).nodes).toMatchObject({ total: 3 });
  held.resolve();
  await clock.advance(0);
  expect(led.lead.sum(REPORT).nodes).toMatchObject({ total: 3 });
});

test('a lead without its key is refused by the nodes', async () => {
  const imposter = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n{}'));
  await new Promise<void>((resolve) => imposter.listen(0, '127.0.0.1', resolve));
  const address = imposter.address();
  const port = address !== null && typeof address !== 'string' ? address.port : 0;
  await expect(followLead({ address: '127.0.0.1', port, key: createChannelKey().publicKey }, 'n1')).rejects.toThrow(ChannelError);
  imposter.close();
});

test.each([
  { absent: 'fail', want: 'absent' },
  { absent: 'ignore', want: 'whole' },
] as const)('a node that stays away past its patience is named, and by choice ($absent) fails the spoke', async ({ absent, want }) => {
  await using led = await startLead({ nodes: ['n0', 'n1', 'n2'], rules: { patienceSeconds: 3, absent } });
  await using one = await followLead(led.place, 'n1');
  void one.follower.serveUntilOver(PullerExit.done);
  expect(await led.lead.awaitNodes()).toBe(want);
  const { nodes, message } = led.lead.sum({ ...REPORT, phase: 'done' });
  expect(nodes).toMatchObject({ total: 3, done: 2, absent: 1, problems: [{ node: 'n2' }] });
  if (want === 'absent') expect(message).toMatch(/^1 of 3 nodes are not filled: n2: no puller has come from it for \d+ s$/);
});
