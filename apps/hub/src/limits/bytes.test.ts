import { expect, test } from 'vitest';
import { handOut, type Puller } from './bytes.ts';

const MB = 1_000_000;
const NOW = Date.parse('2026-01-01T00:00:00Z');
const FLEET = [{ id: '', most: 9 * MB }];

/** A cluster with such a cap since so many seconds; without one its pull has not begun. */
const puller = (cluster: string, bytesPerSecond?: number, seconds = 600, limits = FLEET): Puller => ({
  cluster,
  limits,
  written: bytesPerSecond === undefined ? undefined : { bytesPerSecond, at: NOW - seconds * 1_000 },
});
const capsOf = (pullers: readonly Puller[]) => Object.fromEntries(handOut(pullers, NOW).caps);

test.each<{ name: string; pullers: Puller[]; want: Record<string, number>; limit?: number }>([
  { name: 'one takes all', pullers: [puller('a')], want: { a: 9 * MB } },
  { name: 'those that begin together share', pullers: [puller('a'), puller('b'), puller('c')], want: { a: 3 * MB, b: 3 * MB, c: 3 * MB } },
  {
    name: 'one that may change makes room for a newcomer at once',
    pullers: [puller('a', 9 * MB), puller('b')],
    want: { a: 4.5 * MB, b: 4.5 * MB },
  },
  {
    name: 'a newcomer begins with the least where others may not change yet',
    pullers: [puller('a', 9 * MB, 30), puller('b')],
    want: { a: 9 * MB, b: 16_384 },
  },
  {
    name: 'newcomers share what is free',
    pullers: [puller('a', 5 * MB, 30), puller('b'), puller('c')],
    want: { a: 5 * MB, b: 2 * MB, c: 2 * MB },
  },
  { name: 'what another left is handed out', pullers: [puller('a', 3 * MB), puller('b', 3 * MB)], want: { a: 4.5 * MB, b: 4.5 * MB } },
  { name: 'but not within the minute', pullers: [puller('a', 3 * MB, 59), puller('b', 3 * MB)], want: { a: 3 * MB, b: 4.5 * MB } },
  { name: 'a rise of less than a tenth is not worth a write', pullers: [puller('a', 8.5 * MB)], want: { a: 8.5 * MB } },
  { name: 'a limit that falls by less than a tenth counts', pullers: [puller('a', 9.5 * MB)], want: { a: 9 * MB } },
  {
    name: 'a pull that began without a cap gets one',
    pullers: [{ ...puller('a'), written: { bytesPerSecond: undefined, at: 0 } }],
    want: { a: 9 * MB },
  },
  {
    name: 'a cap that cannot change stays, and counts',
    pullers: [{ ...puller('a'), written: { bytesPerSecond: 6 * MB, at: Number.POSITIVE_INFINITY } }, puller('b')],
    want: { a: 6 * MB, b: 3 * MB },
  },
  {
    name: 'a pull that nobody can cap any more counts as its part',
    pullers: [{ ...puller('a'), written: { bytesPerSecond: undefined, at: Number.POSITIVE_INFINITY } }, puller('b')],
    want: { b: 4.5 * MB },
  },
  { name: 'nobody gets less than the least', limit: 20_000, pullers: [puller('a'), puller('b')], want: { a: 16_384, b: 16_384 } },
])('$name', ({ pullers, want, limit = 9 * MB }) => {
  expect(capsOf(pullers.map((each) => ({ ...each, limits: [{ id: '', most: limit }] })))).toEqual(want);
});

test('the least of the limits of a cluster counts', () => {
  const all = { id: '', most: 12 * MB };
  const at = (cluster: string, id: string, most: number) => puller(cluster, undefined, 0, [all, { id, most }]);
  const sites = [at('a', 'big', 9 * MB), at('b', 'big', 9 * MB), at('c', 'x', 2 * MB), at('d', 'x', 2 * MB), at('e', 'y', 2 * MB)];
  const none = puller('g', undefined, 0, []);
  expect(capsOf([...sites, puller('f', undefined, 0, [all]), none])).toEqual({ a: 2 * MB, b: 2 * MB, c: MB, d: MB, e: 2 * MB, f: 2 * MB });
});

test('the time of the next change is that of the first that waits for its minute', () => {
  const pullers = [puller('a', 9 * MB, 30), puller('b'), puller('c', 3 * MB, 10)];
  expect(handOut(pullers, NOW).at).toBe(NOW + 30_000);
  expect(handOut([puller('a', 4.5 * MB, 5), puller('b', 4.5 * MB, 5)], NOW).at).toBeUndefined();
});

/** Lets clusters come and go by a seed, and limits change, second by second; returns caps by second, and the writes. */
function play(seed: number, { seconds, most }: { seconds: number; most: number }) {
  let state = seed;
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  const written = new Map<string, Puller>();
  const history: { limit: number; since: number; sum: number; count: number }[] = [];
  let [limit, since, names, writes] = [100 * MB, 0, 0, 0];
  for (let second = 0; second < seconds; second++) {
    const now = NOW + second * 1_000;
    if (random() < 0.002) [limit, since] = [(20 + Math.floor(random() * 200)) * MB, second];
    while (random() < 0.5 && written.size < most) written.set(`c${names++}`, puller('', undefined));
    for (const cluster of written.keys()) if (random() < 0.01) written.delete(cluster);
    const pullers = [...written].map(([cluster, each]) => ({ ...each, cluster, limits: [{ id: '', most: limit }] }));
    for (const [cluster, bytesPerSecond] of handOut(pullers, now).caps) {
      const before = written.get(cluster)?.written;
      if (before?.bytesPerSecond === bytesPerSecond) continue;
      if (before) {
        writes += 1;
        expect(now - before.at).toBeGreaterThanOrEqual(60_000);
      }
      written.set(cluster, { cluster, limits: [], written: { bytesPerSecond, at: now } });
    }
    const sum = [...written.values()].reduce((all, each) => all + (each.written?.bytesPerSecond ?? 0), 0);
    history.push({ limit, since: second - since, sum, count: written.size });
  }
  return { history, writes };
}

test.each([1, 2, 3, 4, 5])('caps exceed a limit for no longer than a minute, and use it: seed %i', (seed) => {
  const { history } = play(seed, { seconds: 3_000, most: 60 });
  const settled = history.filter(({ since }) => since > 60);
  for (const { sum, limit, count } of settled) expect(sum).toBeLessThanOrEqual(limit + count * 16_384);
  const use = settled.reduce((all, { sum, limit }) => all + sum / limit, 0) / settled.length;
  expect(use).toBeGreaterThan(0.75);
});

test('five thousand clusters at rest, and one that comes, change no cap', () => {
  const limits = [{ id: '', most: 1_000 * MB }];
  const pullers = Array.from({ length: 5_000 }, (_, index) => puller(`c${index}`, undefined, 0, limits));
  const first = handOut(pullers, NOW).caps;
  const begun = pullers.map((each) => ({ ...each, written: { bytesPerSecond: first.get(each.cluster), at: NOW - 600_000 } }));
  const then = handOut([...begun, puller('new', undefined, 0, limits)], NOW);
  expect(begun.filter(({ cluster }) => then.caps.get(cluster) !== first.get(cluster))).toEqual([]);
  expect(then.caps.get('new')).toBe(first.get('c0'));
  expect(then.at).toBeUndefined();
});
