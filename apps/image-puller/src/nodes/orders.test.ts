import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import type { Order } from './messages.ts';
import { Orders } from './orders.ts';

const BLOB = { digest: `sha256:${'a'.repeat(64)}`, size: 1_000 };
const peerOf = (id: string) => ({ id, address: '10.0.0.1', port: 1 });

/** Orders among nodes, on a clock of their own. */
function startOrders(hasBlob: (id: string) => boolean | undefined = () => false) {
  const clock = new ManualClock();
  const probed: string[] = [];
  const peers = {
    hasBlob: async ({ id }: { readonly id: string }) => {
      probed.push(id);
      return hasBlob(id);
    },
  };
  const orders = new Orders({ clock, peers });
  /** Asks until the answer is another than to wait, for so many seconds. */
  const ask = async (id: string, seconds: number): Promise<Order['do'] | undefined> => {
    const until = clock.now() + seconds * 1_000;
    let last: Order | undefined;
    while (clock.now() < until && (last === undefined || last.do === 'wait')) {
      let isOpen = true;
      const asking = orders.order(id, BLOB, new AbortController().signal).then((order) => {
        last = order;
        isOpen = false;
      });
      while (isOpen) await clock.advance(100);
      await asking;
    }
    return last?.do;
  };
  return { clock, orders, probed, ask };
}

test('a node that gives no answer may have the blob: it is asked again, and nobody fetches meanwhile', async () => {
  let isAnswering = false;
  const { orders, ask } = startOrders((id) => (id === 'n1' && !isAnswering ? undefined : id === 'n1'));
  for (const id of ['n1', 'n2']) orders.enter(peerOf(id));
  orders.begin();
  expect(await ask('n2', 6)).toBe('wait');
  isAnswering = true;
  expect(await ask('n2', 6)).toBe('copy');
});

test('a node that gives no answer for long holds up nobody, and no other blob', async () => {
  const { orders, ask, clock } = startOrders((id) => (id === 'n1' ? undefined : false));
  for (const id of ['n1', 'n2']) orders.enter(peerOf(id));
  orders.begin();
  const before = clock.now();
  expect(await ask('n2', 60)).toBe('fetch');
  expect(clock.now() - before).toBeLessThan(20_000);
});

test('a node that has gone without an answer holds up nobody', async () => {
  const { orders, ask } = startOrders((id) => (id === 'n1' ? undefined : false));
  for (const id of ['n1', 'n2']) orders.enter(peerOf(id));
  orders.begin();
  expect(await ask('n2', 1)).toBe('wait');
  orders.away('n1');
  expect(await ask('n2', 6)).toBe('fetch');
});

test('nodes have their time to come from when they can know of the lead', async () => {
  const { clock, orders, ask } = startOrders();
  orders.succeed();
  orders.enter(peerOf('lead'));
  await clock.advance(25_000);
  orders.published();
  expect(await ask('lead', 25)).toBe('wait');
  expect(await ask('lead', 15)).toBe('fetch');
});
