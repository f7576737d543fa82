import { expect, test } from 'vitest';
import { RowTable } from './row-table.ts';

const taken = (table: RowTable<{ key: string; state: string; batch: number }>) => {
  const { rows, cells, gone } = table.take() ?? { rows: [], cells: [], gone: [] };
  return { rows: rows.map(({ key }) => key), cells, gone };
};
const row = (key: string, state: string, batch = 1) => ({ key, state, batch });

test('a change is the cells that differ, gathered until they are taken, and nothing where nothing differs', () => {
  const table = new RowTable<ReturnType<typeof row>>();
  table.replace([row('a', 'waiting'), row('b', 'waiting')]);
  expect(taken(table)).toEqual({ rows: ['a', 'b'], cells: [], gone: [] });
  table.put(row('a', 'in-batch'));
  table.put(row('a', 'in-batch', 2));
  table.put(row('b', 'waiting'));
  expect(taken(table)).toEqual({ rows: [], cells: [{ key: 'a', state: 'in-batch', batch: 2 }], gone: [] });
  table.put(row('a', 'in-batch', 2));
  expect(table.take()).toBeUndefined();
});

test('a row that went and came again is said in full, and one that went is said once', () => {
  const table = new RowTable<ReturnType<typeof row>>();
  table.replace([row('a', 'waiting'), row('b', 'waiting')]);
  table.take();
  table.drop('a');
  table.put(row('a', 'done'));
  table.replace([row('a', 'done')]);
  expect(taken(table)).toEqual({ rows: ['a'], cells: [], gone: ['b'] });
  expect(table.take()).toBeUndefined();
  expect(table.whole()).toEqual({ isWhole: true, rows: [row('a', 'done')], cells: [], gone: [] });
});
