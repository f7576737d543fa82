import { expect, test } from 'vitest';
import { Probes } from './probes.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const peersOf = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `n${index}`, address: '10.0.0.1', port: index + 1 }));

/** Peers that answer when they are let, and count their questions. */
function startPeers(holders: readonly string[]) {
  const asked: string[] = [];
  const answer = Promise.withResolvers<void>();
  const probes = new Probes({
    hasBlob: async ({ id }) => {
      asked.push(id);
      await answer.promise;
      return holders.includes(id);
    },
  });
  return { asked, probes, answer: () => answer.resolve() };
}

test('many that ask for one blob at once share one question to each peer', async () => {
  const { asked, probes, answer } = startPeers(['n3']);
  const peers = peersOf(30);
  const asks = peers.map((asker) =>
    probes.ask(
      DIGEST,
      peers.filter((peer) => peer !== asker),
    ),
  );
  answer();
  const found = await Promise.all(asks);
  expect(asked.toSorted()).toEqual(peers.map(({ id }) => id).toSorted());
  expect(found).toEqual(peers.map(({ id }) => (id === 'n3' ? [] : ['n3'])));
});

test('a peer that has come again is asked again, whatever its earlier answer was', async () => {
  const { asked, probes, answer } = startPeers([]);
  const peers = peersOf(2);
  const first = probes.ask(DIGEST, peers);
  probes.forget('n1');
  const second = probes.ask(DIGEST, peers);
  answer();
  await Promise.all([first, second]);
  await probes.ask(DIGEST, peers);
  expect(asked).toEqual(['n0', 'n1', 'n1']);
});

test('a peer that was named once is not named again: its blob may have been found broken since', async () => {
  const { probes, answer } = startPeers(['n1']);
  answer();
  expect(await probes.ask(DIGEST, peersOf(2))).toEqual(['n1']);
  expect(await probes.ask(DIGEST, peersOf(2))).toEqual([]);
});
