import { expect, test } from 'vitest';
import { summarizeWaits } from './waits.ts';

test('what most wait for comes first, then by name; of each the first clusters are named', () => {
  const waits = new Map([
    ['z', { for: 'policy b' }],
    ...['c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((cluster) => [cluster, { for: 'policy a' }] as const),
    ['y', { for: 'its batch' }],
  ]);
  expect(summarizeWaits(waits)).toEqual([
    { for: 'policy a', clusters: 6, names: ['c1', 'c2', 'c3', 'c4', 'c5'] },
    { for: 'its batch', clusters: 1, names: ['y'] },
    { for: 'policy b', clusters: 1, names: ['z'] },
  ]);
});

test('a status names twenty things at most, those that fewest wait for are left out', () => {
  const waits = new Map(
    Array.from({ length: 60 }, (_, index) => [`c${index}`, { for: `policy p${index % 30 < 20 ? index % 30 : index}` }] as const),
  );
  const said = summarizeWaits(waits);
  expect(said).toHaveLength(20);
  expect(said.every(({ clusters }) => clusters === 2)).toBe(true);
});

test('since when is that of the first of them, and what was stored before a process began counts too', () => {
  const at = (seconds: number) => Date.parse('2026-01-01T00:00:00Z') + seconds * 1000;
  const waits = new Map([
    ['a', { for: 'policy p', since: at(20) }],
    ['b', { for: 'policy p', since: at(10) }],
    ['c', { for: 'its batch' }],
  ]);
  const said = (before: Parameters<typeof summarizeWaits>[1]) => summarizeWaits(waits, before).map(({ since }) => since);
  expect(said([])).toEqual(['2026-01-01T00:00:10Z', undefined]);
  expect(said([{ for: 'policy p', clusters: 1, names: ['b'], since: '2026-01-01T00:00:05Z' }])).toEqual([
    '2026-01-01T00:00:05Z',
    undefined,
  ]);
  expect(said([{ for: 'policy q', clusters: 1, names: ['b'], since: '2026-01-01T00:00:05Z' }])).toEqual([
    '2026-01-01T00:00:10Z',
    undefined,
  ]);
  expect(said([{ for: 'policy p', clusters: 1, names: ['b'], since: 'tomorrow' }])).toEqual(['2026-01-01T00:00:10Z', undefined]);
});

test('nobody waits for nothing', () => expect(summarizeWaits(new Map())).toEqual([]));
