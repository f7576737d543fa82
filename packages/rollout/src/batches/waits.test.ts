import { expect, test } from 'vitest';
import { summarizeWaits } from './waits.ts';

test('what most wait for comes first, then by name; of each the first clusters are named', () => {
  const waits = new Map([
    ['z', 'policy b'],
    ...['c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((cluster) => [cluster, 'policy a'] as const),
    ['y', 'its batch'],
  ]);
  expect(summarizeWaits(waits)).toEqual([
    { for: 'policy a', clusters: 6, names: ['c1', 'c2', 'c3', 'c4', 'c5'] },
    { for: 'its batch', clusters: 1, names: ['y'] },
    { for: 'policy b', clusters: 1, names: ['z'] },
  ]);
});

test('a status names twenty things at most, those that fewest wait for are left out', () => {
  const waits = new Map(
    Array.from({ length: 60 }, (_, index) => [`c${index}`, `policy p${index % 30 < 20 ? index % 30 : index}`] as const),
  );
  const said = summarizeWaits(waits);
  expect(said).toHaveLength(20);
  expect(said.every(({ clusters }) => clusters === 2)).toBe(true);
});

test('nobody waits for nothing', () => expect(summarizeWaits(new Map())).toEqual([]));
