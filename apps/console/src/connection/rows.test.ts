import { effect } from '@preact/signals';
import { expect, test } from 'vitest';
import { Rows } from './rows.ts';

const row = (key: string, state: string, batch: number | null = 1) => ({ key, state, batch });

test('changes are taken cell by cell, a whole table replaces all, and a cell of no row is nothing', () => {
  const rows = new Rows<ReturnType<typeof row>>();
  rows.take({ isWhole: true, rows: [row('a', 'waiting'), row('b', 'waiting')], cells: [], gone: [] });
  rows.take({
    isWhole: false,
    rows: [row('c', 'waiting')],
    cells: [
      { key: 'a', batch: null },
      { key: 'z', batch: 2 },
    ],
    gone: ['b'],
  });
  expect(rows.values()).toEqual([row('a', 'waiting', null), row('c', 'waiting')]);
  let drawn = 0;
  const end = effect(() => {
    if (rows.values().length > 0) drawn += 1;
  });
  rows.take({ isWhole: true, rows: [row('d', 'done')], cells: [], gone: [] });
  expect(rows.values()).toEqual([row('d', 'done')]);
  expect(drawn).toBe(2);
  end();
});
