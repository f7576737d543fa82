import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import type { Peer } from './peer-blobs.ts';
import { Probes } from './probes.ts';

const BLOB = { digest: `sha256:${'a'.repeat(64)}`, size: 1 };

/** Nodes that answer when they are let, the questions to them, and those that were named. */
function startNodes(count: number, holders: readonly string[]) {
  const asked: string[] = [];
  const named: string[] = [];
  const answer = Promise.withResolvers<void>();
  const places = new Map<string, Peer>();
  const hasBlob = async ({ id }: Peer): Promise<boolean> => {
    asked.push(id);
    await answer.promise;
    return holders.includes(id);
  };
  const probes = new Probes({ clock: new ManualClock(), places, hasBlob, onHas: (id) => void named.push(id) });
  const enter = (id: string): void => {
    places.set(id, { id, address: '10.0.0.1', port: 1 });
    probes.forget(id);
  };
  for (let index = 0; index < count; index += 1) enter(`n${index}`);
  return { asked, named, places, probes, enter, answer: () => answer.resolve() };
}

test('many that ask for one blob at once share one question to each node, and each waits for the answers', async () => {
  const { asked, named, places, probes, answer } = startNodes(30, ['n3']);
  const asks = Array.from({ length: 30 }, async () => {
    await probes.ask(BLOB);
    return [...named];
  });
  answer();
  for (const known of await Promise.all(asks)) expect(known).toEqual(['n3']);
  expect(asked).toEqual([...places.keys()]);
});

test('a node that has come again is asked again, and an answer from before counts all the same', async () => {
  const { asked, named, probes, enter, answer } = startNodes(2, ['n1']);
  const first = probes.ask(BLOB);
  enter('n1');
  const second = probes.ask(BLOB);
  answer();
  await Promise.all([first, second]);
  expect(asked).toEqual(['n0', 'n1', 'n1']);
  expect(named).toEqual(['n1', 'n1']);
});

test('a node that was named once is not named again: its blob may have been found broken since', async () => {
  const { asked, named, probes, enter, answer } = startNodes(2, ['n1']);
  answer();
  await probes.ask(BLOB);
  enter('n2');
  await probes.ask(BLOB);
  expect(asked).toEqual(['n0', 'n1', 'n2']);
  expect(named).toEqual(['n1']);
});

test('a node that answers about all blobs but one holds up that one for a while alone', async () => {
  const clock = new ManualClock();
  const places = new Map<string, Peer>([['n1', { id: 'n1', address: '10.0.0.1', port: 1 }]]);
  const hasBlob = async (_: Peer, digest: string): Promise<boolean | undefined> => (digest === BLOB.digest ? undefined : false);
  const probes = new Probes({ clock, places, hasBlob, onHas: () => undefined });
  let seconds = 0;
  for (; seconds < 60 && !(await probes.ask(BLOB)); seconds += 3) {
    expect(await probes.ask({ digest: `sha256:${String(seconds).padStart(64, '0')}`, size: 1 })).toBe(true);
    await clock.advance(3_000);
  }
  expect(seconds).toBe(15);
});
