import { describe, expect, test } from 'vitest';
import { BlobExchange, scoreOf } from './blob-exchange.ts';

const blob = { digest: `sha256:${'a'.repeat(64)}`, size: 1_000_000 };
const nodes = ['one', 'two', 'three'];
/** The node that the hash picks, and the others. */
const [first = '', second = '', third = ''] = nodes.toSorted((a, b) => (scoreOf(a, blob.digest) > scoreOf(b, blob.digest) ? -1 : 1));

function exchangeOf(joined = nodes): BlobExchange {
  const exchange = new BlobExchange(0);
  for (const node of joined) exchange.join(node);
  return exchange;
}

describe('a blob', () => {
  test('is fetched by the node that the hash picks, and taken from it', () => {
    const exchange = exchangeOf();
    expect(exchange.ask(second, blob, 0)).toEqual({ do: 'wait' });
    expect(exchange.ask(first, blob, 10)).toEqual({ do: 'fetch' });
    expect(exchange.ask(third, blob, 5_000)).toEqual({ do: 'wait' });
    exchange.has(first, blob.digest, blob.size, 6_000);
    expect(exchange.ask(second, blob, 6_000)).toEqual({ do: 'copy', from: [first] });
  });

  test('is fetched by another node when that one does not ask in time', () => {
    const exchange = exchangeOf();
    exchange.ask(second, blob, 0);
    expect(exchange.ask(second, blob, 2_000)).toEqual({ do: 'fetch' });
    expect(exchange.ask(first, blob, 2_001)).toEqual({ do: 'wait' });
  });

  test('whose fetcher vanishes is taken over by the next in the hash; one that comes back goes on', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    expect(exchange.ask(first, blob, 100)).toEqual({ do: 'fetch' });
    exchange.leave(first, 1_000);
    expect(exchange.ask(third, blob, 1_001)).toEqual({ do: 'wait' });
    expect(exchange.ask(second, blob, 1_002)).toEqual({ do: 'fetch' });
  });

  test('whose only holder vanishes is waited for, then fetched again', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    exchange.has(first, blob.digest, blob.size, 10);
    exchange.leave(first, 1_000);
    expect(exchange.ask(second, blob, 2_000)).toEqual({ do: 'wait' });
    expect(exchange.ask(second, blob, 60_000)).toEqual({ do: 'fetch' });
  });

  test('is taken over from a fetcher that stands still, and from one that claims to grow for too long', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    expect(exchange.ask(second, blob, 44_000)).toEqual({ do: 'wait' });
    expect(exchange.ask(second, blob, 46_000)).toEqual({ do: 'fetch' });
    for (let now = 46_000; now < 2_000_000; now += 10_000) exchange.grows(second, blob.digest, now, now);
    expect(exchange.ask(first, blob, 2_000_000)).toEqual({ do: 'fetch' });
  });

  test('is refused only to the node that complains', () => {
    const exchange = exchangeOf();
    exchange.has(first, blob.digest, blob.size, 0);
    exchange.has(second, blob.digest, blob.size, 0);
    exchange.failed(third, blob.digest, first);
    exchange.failed(third, blob.digest, second);
    expect(exchange.ask(third, blob, 5_000)).toEqual({ do: 'fetch' });
    exchange.join('four');
    expect(exchange.ask('four', blob, 5_000)).toMatchObject({ do: 'copy' });
  });

  test('is asked for elsewhere when its fetcher fails, and by everybody when all have failed', () => {
    const exchange = exchangeOf();
    exchange.ask(first, blob, 0);
    exchange.failed(first, blob.digest);
    expect(exchange.ask(second, blob, 10)).toEqual({ do: 'fetch' });
    for (const node of [second, third]) exchange.failed(node, blob.digest);
    expect(exchange.ask(first, blob, 5_000)).toEqual({ do: 'fetch' });
  });
});
