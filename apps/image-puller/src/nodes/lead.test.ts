import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { PullerExit } from '@flotilla/api/ran';
import { freePorts } from '@flotilla/control-plane/processes';
import { type Clock, systemClock } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import { createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { fillStore, followLead, MemoryRegistry, REPORT, startLead } from '../../testing/memory-spoke.ts';
import { Follower } from './follower.ts';
import type { BlobSharing } from './peer-blobs.ts';

/** Asks for the registry's only blob; the answer is undefined until there is one. */
function ask(sharing: BlobSharing, { blobs: [blob] }: MemoryRegistry, signal: AbortSignal): () => unknown {
  let answer: unknown;
  const note = (found: unknown): void => {
    answer = found;
  };
  sharing.source(blob ?? expect.fail(), signal).then(note, note);
  return () => answer;
}

test.each(['dies', 'fails'] as const)(
  'a node that comes back with a blob that it alone has, and %s before it opens, holds up nobody',
  {
    timeout: 60_000,
  },
  async (how) => {
    const registry = new MemoryRegistry([20_000]);
    let laterMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
    await using led = await startLead({ nodes: ['n0', 'n1'], clock, rules: { patienceSeconds: 60 } });
    const sharing = led.lead.sharing();
    await sharing.open(led.store);
    const before = await followLead(led.place, 'n1');
    await before.fill(registry);
    await before.kill();
    let calls = 0;
    // Its port is told by another call, which fails.
    const readToken = async (): Promise<string> => {
      calls += 1;
      return calls === 1 ? 'n1' : expect.fail('the token cannot be read');
    };
    await using again = await followLead(led.place, 'n1', before.store, { readToken });
    if (how === 'dies') await again.kill();
    else void again.follower.serveUntilOver(PullerExit.noSpace);
    const answer = ask(sharing, registry, led.signal);
    const isToFetch = (): boolean => {
      laterMs += 5_000;
      return answer() === 'registry';
    };
    await eventually(isToFetch, 'the lead to be told to fetch', 20_000);
  },
);

test('a join that another process of the node has overtaken puts that one away for nobody', { timeout: 60_000 }, async () => {
  const registry = new MemoryRegistry([20_000]);
  const held = Promise.withResolvers<void>();
  const nodes = ['n0'];
  let readings = 0;
  const holdExpected = async (): Promise<void> => {
    readings += 1;
    if (readings === 2) await held.promise;
  };
  await using led = await startLead({ nodes, holdExpected });
  const sharing = led.lead.sharing();
  await sharing.open(led.store);
  const stop = new AbortController();
  const first = new Follower({
    nodeName: 'n1',
    lead: led.place,
    address: '127.0.0.1',
    blobPort: 0,
    readToken: async () => 'n1',
    report: () => REPORT,
    isReplaced: async () => false,
    signal: stop.signal,
    clock: systemClock,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  void first.join().catch(() => undefined);
  await eventually(() => readings === 2, 'its join to wait for the nodes', 20_000);
  stop.abort();
  await first[Symbol.asyncDispose]();
  nodes.push('n1');
  await using again = await followLead(led.place, 'n1');
  await again.fill(registry);
  held.resolve();
  for (let turns = 0; turns < 10; turns += 1) await turn();
  const answer = ask(sharing, registry, led.signal);
  await eventually(() => answer() !== undefined, 'an answer', 20_000);
  expect(answer()).toMatchObject([{ id: 'uid-n1' }]);
});

test('a node whose token is refused is named with the cause, and with none once it has joined', { timeout: 60_000 }, async () => {
  let laterMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
  await using led = await startLead({ nodes: ['n0', 'n1', 'n2'], clock, rules: { patienceSeconds: 60 } });
  const problems = () => led.lead.sum(REPORT).nodes?.problems;
  await expect(followLead(led.place, 'n1', undefined, { readToken: async () => 'stranger' })).rejects.toThrow('403');
  laterMs = 31_000;
  expect(problems()).toEqual([
    { node: 'n1', message: "its puller has not been let in yet: its token is nobody's" },
    { node: 'n2', message: 'its puller has not come yet' },
  ]);
  laterMs = 70_000;
  expect(problems()).toContainEqual({
    node: 'n1',
    message: expect.stringMatching(/^its puller has not been let in for \d+ s: its token is nobody's$/),
  });
  await using _n1 = await followLead(led.place, 'n1');
  expect(problems()?.map(({ node }) => node)).toEqual(['n2']);
});

test('a lead whose port is taken offers its blobs once it is free', { timeout: 60_000 }, async () => {
  const registry = new MemoryRegistry([20_000]);
  const [blobPort = 0] = await freePorts(1);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(blobPort, '127.0.0.1', resolve));
  await using led = await startLead({ nodes: ['n0', 'n1'], blobPort });
  const sharing = led.lead.sharing();
  await expect(sharing.open(led.store)).rejects.toThrow();
  await new Promise((resolve) => other.close(resolve));
  await sharing.open(led.store);
  await using one = await followLead(led.place, 'n1');
  await fillStore(led.store, registry, sharing, { signal: led.signal });
  await one.fill(registry);
  expect(registry.servedBytes).toBe(registry.neededBytes);
});
