import { describe, expect, test } from 'vitest';
import { BlobExchange, scoreOf } from './blob-exchange.ts';

const blob = { digest: `sha256:${'a'.repeat(64)}`, size: 1_000_000 };
const other = { digest: `sha256:${'e'.repeat(64)}`, size: 1_000_000 };
const nodes = ['one', 'two', 'three'];
/** The node that the hash picks, and the others. */
const [first = '', second = '', third = ''] = nodes.toSorted((a, b) => (scoreOf(a, blob.digest) > scoreOf(b, blob.digest) ? -1 : 1));

function exchangeOf(joined = nodes): BlobExchange {
  const exchange = new BlobExchange(0);
  for (const node of joined) exchange.join(node);
  return exchange;
}

/** The same with something else on the link. */
function busyExchange(): BlobExchange {
  const exchange = exchangeOf();
  exchange.ask(third, { digest: `sha256:${'c'.repeat(64)}`, size: 1_000_000 }, 0);
  return exchange;
}

describe('a blob', () => {
  test('is fetched by the node that the hash picks, and taken from it', () => {
    const exchange = busyExchange();
    expect(exchange.ask(second, blob, 0)).toEqual({ do: 'wait' });
    expect(exchange.ask(first, blob, 10)).toEqual({ do: 'fetch' });
    expect(exchange.ask(third, blob, 5_000)).toEqual({ do: 'wait' });
    exchange.has(first, blob.digest, blob.size, 6_000);
    expect(exchange.ask(second, blob, 6_000)).toEqual({ do: 'copy', from: [first] });
  });

  test('is fetched by whoever asks first while the link is idle', () => {
    const exchange = exchangeOf();
    expect(exchange.ask(second, blob, 0)).toEqual({ do: 'fetch' });
    expect(exchange.ask(first, blob, 1)).toEqual({ do: 'wait' });
  });

  test('is fetched by another node when that one does not ask in time', () => {
    const exchange = busyExchange();
    exchange.ask(second, blob, 0);
    expect(exchange.ask(second, blob, 2_000)).toEqual({ do: 'fetch' });
    expect(exchange.ask(first, blob, 2_001)).toEqual({ do: 'wait' });
  });

  test('whose fetcher is gone is taken over by the next in the hash', () => {
    const exchange = busyExchange();
    exchange.ask(first, blob, 0);
    expect(exchange.ask(first, blob, 100)).toEqual({ do: 'fetch' });
    exchange.leave(first, 1_000);
    expect(exchange.ask(third, blob, 1_001)).toEqual({ do: 'wait' });
    expect(exchange.ask(second, blob, 1_002)).toEqual({ do: 'fetch' });
  });

  test('whose fetcher or only holder is away is waited for, and nobody is sent there', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    exchange.away(first);
    expect(exchange.ask(second, blob, 10)).toEqual({ do: 'wait' });
    exchange.join(first);
    exchange.has(first, blob.digest, blob.size, 20);
    exchange.away(first);
    expect(exchange.ask(second, blob, 30)).toEqual({ do: 'wait' });
    exchange.join(first);
    expect(exchange.ask(second, blob, 40)).toEqual({ do: 'copy', from: [first] });
  });

  test('whose only holder is gone is fetched again', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    exchange.has(first, blob.digest, blob.size, 10);
    exchange.leave(first, 1_000);
    expect(exchange.ask(second, blob, 2_000)).toEqual({ do: 'fetch' });
  });

  test('is taken over from a fetcher that stands still while others move, and from one that claims to grow for too long', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    exchange.ask(third, other, 0);
    const grow = (node: string, { digest }: typeof blob, [from, to]: readonly [number, number]): void => {
      for (let now = from; now < to; now += 5_000) exchange.grows(node, digest, now, now);
    };
    grow(third, other, [0, 150_000]);
    expect(exchange.ask(second, blob, 150_000)).toEqual({ do: 'wait' });
    grow(third, other, [150_000, 165_000]);
    expect(exchange.ask(second, blob, 165_000)).toEqual({ do: 'fetch' });
    grow(second, blob, [165_000, 2_000_000]);
    expect(exchange.ask(first, blob, 2_000_000)).toEqual({ do: 'fetch' });
  });

  test("stays with its fetcher while nothing moves: an outage of the link is nobody's", () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    exchange.ask(third, other, 0);
    exchange.grows(third, other.digest, 1_000, 1_000);
    expect(exchange.ask(second, blob, 3_600_000)).toEqual({ do: 'wait' });
    exchange.grows(third, other.digest, 2_000, 3_600_000);
    expect(exchange.ask(second, blob, 3_600_001)).toEqual({ do: 'wait' });
    expect(exchange.ask(first, blob, 3_600_002)).toEqual({ do: 'fetch' });
  });

  test('is fetched by whoever has most of it, whoever asks first, and by another where that one does not ask', () => {
    const exchange = exchangeOf([second]);
    exchange.join(first, { [blob.digest]: 1_000 });
    exchange.join(third, { [blob.digest]: 2_000 });
    expect(exchange.ask(second, blob, 0)).toEqual({ do: 'wait' });
    expect(exchange.ask(first, blob, 29_000)).toEqual({ do: 'wait' });
    expect(exchange.ask(third, blob, 29_000)).toEqual({ do: 'fetch' });
    exchange.failed(third, blob.digest, 40_000);
    expect(exchange.ask(second, blob, 41_000)).toEqual({ do: 'wait' });
    expect(exchange.ask(second, blob, 71_000)).toEqual({ do: 'fetch' });
  });

  test('is fetched by whoever has most of it, also when that one was silent and is heard of again', () => {
    const exchange = exchangeOf([second]);
    exchange.join(first, { [blob.digest]: 1_000 });
    exchange.away(first);
    exchange.join(first);
    expect(exchange.ask(second, blob, 0)).toEqual({ do: 'wait' });
    expect(exchange.ask(first, blob, 0)).toEqual({ do: 'fetch' });
  });

  test('of which a node that is away has most is waited for until that one is gone', () => {
    const exchange = exchangeOf([second]);
    exchange.join(first, { [blob.digest]: 1_000 });
    exchange.away(first);
    expect(exchange.ask(second, blob, 0)).toEqual({ do: 'wait' });
    expect(exchange.ask(second, blob, 500_000)).toEqual({ do: 'wait' });
    exchange.leave(first, 500_000);
    expect(exchange.ask(second, blob, 500_001)).toEqual({ do: 'fetch' });
  });

  test('is refused only to the node that complains', () => {
    const exchange = exchangeOf();
    exchange.has(first, blob.digest, blob.size, 0);
    exchange.has(second, blob.digest, blob.size, 0);
    exchange.failed(third, blob.digest, 0, first);
    exchange.failed(third, blob.digest, 0, second);
    expect(exchange.ask(third, blob, 5_000)).toEqual({ do: 'fetch' });
    exchange.join('four');
    expect(exchange.ask('four', blob, 5_000)).toMatchObject({ do: 'copy' });
  });

  test('is asked for elsewhere when its fetcher fails, and by everybody when all have failed', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    exchange.failed(first, blob.digest, 5);
    expect(exchange.ask(second, blob, 10)).toEqual({ do: 'fetch' });
    for (const node of [second, third]) exchange.failed(node, blob.digest, 20);
    expect(exchange.ask(first, blob, 5_000)).toEqual({ do: 'fetch' });
  });
});

describe('a node', () => {
  const others = Array.from({ length: 12 }, (_, index) => ({ digest: `sha256:${String(index).padStart(64, '0')}`, size: 1_000 }));
  const granted = (exchange: BlobExchange, node: string, now: number): string[] =>
    others.filter((each) => exchange.ask(node, each, now).do === 'fetch').map(({ digest }) => digest);

  test.each([
    { joined: ['one'], share: 8 },
    { joined: nodes, share: 3 },
    { joined: others.map(({ digest }) => digest), share: 1 },
  ])('of $joined.length has its share of the link, $share blobs, and the next when one has come', ({ joined, share }) => {
    const exchange = exchangeOf(joined);
    const [node = ''] = joined;
    granted(exchange, node, 0);
    const begun = granted(exchange, node, 2_000);
    expect(begun).toHaveLength(share);
    exchange.has(node, begun[0] ?? '', 1_000, 2_100);
    const left = others.filter(({ digest }) => !begun.includes(digest));
    expect(left.filter((each) => exchange.ask(node, each, 2_200).do === 'fetch')).toHaveLength(1);
  });

  test('goes on with what it has most of beside its share, and with no more than the link takes', () => {
    const exchange = exchangeOf([second, third]);
    const parts = others.map((_, index) => ({ digest: `sha256:${String(index).padStart(64, 'f')}`, size: 1_000 }));
    exchange.join(first, Object.fromEntries(parts.map(({ digest }) => [digest, 500])));
    granted(exchange, first, 0);
    const share = granted(exchange, first, 2_000);
    expect(share).toHaveLength(3);
    const gone = parts.filter((part) => exchange.ask(first, part, 3_000).do === 'fetch');
    expect(gone).toHaveLength(8 - share.length);
    for (const part of gone) expect(exchange.ask(second, part, 90_000)).toEqual({ do: 'wait' });
  });

  test('gives up the share of what stands still', () => {
    const exchange = exchangeOf();
    granted(exchange, first, 0);
    granted(exchange, first, 2_000);
    const moving = { digest: `sha256:${'d'.repeat(64)}`, size: 1_000 };
    exchange.ask(second, moving, 2_000);
    exchange.ask(second, moving, 4_000);
    expect(exchange.ask(first, blob, 60_000)).toEqual({ do: 'wait' });
    for (let now = 60_000; now < 220_000; now += 5_000) exchange.grows(second, moving.digest, now, now);
    expect(exchange.ask(first, blob, 220_000)).toEqual({ do: 'fetch' });
  });

  test('that retires is given nothing to fetch, and is alone until another has its blobs', () => {
    const exchange = exchangeOf();
    exchange.has(first, blob.digest, blob.size, 0);
    exchange.retire(first, 0);
    expect(exchange.isAlone(first)).toBe(true);
    expect(exchange.ask(second, blob, 10)).toEqual({ do: 'copy', from: [first] });
    exchange.has(second, blob.digest, blob.size, 20);
    expect(exchange.isAlone(first)).toBe(false);
    const fresh = { digest: `sha256:${'b'.repeat(64)}`, size: 1 };
    const next = [second, third].toSorted((a, b) => (scoreOf(a, fresh.digest) > scoreOf(b, fresh.digest) ? -1 : 1))[0] ?? '';
    expect(exchange.ask(next, fresh, 30)).toEqual({ do: 'fetch' });
  });

  test('that has ended gives up what it did not fetch', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    exchange.grows(first, blob.digest, 500_000, 10);
    exchange.retire(first, 20);
    expect(exchange.ask(second, blob, 30)).toEqual({ do: 'fetch' });
  });
});
