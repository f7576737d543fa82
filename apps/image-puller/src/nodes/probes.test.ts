import { expect, test } from 'vitest';
import { Probes } from './probes.ts';

const BLOB = { digest: `sha256:${'a'.repeat(64)}`, size: 1 };
const peersOf = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `n${index}`, address: '10.0.0.1', port: index + 1 }));

/** Peers that answer when they are let, their questions, and the nodes that were named. */
function startPeers(holders: readonly string[]) {
  const asked: string[] = [];
  const named: string[] = [];
  const answer = Promise.withResolvers<void>();
  const hasBlob = async ({ id }: { readonly id: string }): Promise<boolean> => {
    asked.push(id);
    await answer.promise;
    return holders.includes(id);
  };
  const probes = new Probes({ hasBlob }, (id) => void named.push(id));
  return { asked, named, probes, answer: () => answer.resolve() };
}

test('many that ask for one blob at once share one question to each peer, and each waits for the answers', async () => {
  const { asked, named, probes, answer } = startPeers(['n3']);
  const peers = peersOf(30);
  const asks = peers.map(async () => {
    await probes.ask(BLOB, peers);
    return [...named];
  });
  answer();
  for (const known of await Promise.all(asks)) expect(known).toEqual(['n3']);
  expect(asked).toEqual(peers.map(({ id }) => id));
});

test('a peer that has come again is asked again, and an answer from before counts all the same', async () => {
  const { asked, named, probes, answer } = startPeers(['n1']);
  const first = probes.ask(BLOB, peersOf(2));
  probes.forget('n1');
  const second = probes.ask(BLOB, peersOf(2));
  answer();
  await Promise.all([first, second]);
  expect(asked).toEqual(['n0', 'n1', 'n1']);
  expect(named).toEqual(['n1', 'n1']);
});

test('a peer that was named once is not named again: its blob may have been found broken since', async () => {
  const { named, probes, answer } = startPeers(['n1']);
  answer();
  await probes.ask(BLOB, peersOf(2));
  await probes.ask(BLOB, peersOf(3));
  expect(named).toEqual(['n1']);
});
