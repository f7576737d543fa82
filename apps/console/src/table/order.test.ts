import { expect, test } from 'vitest';
import { compareVersions, inOrder } from './order.ts';

const columns = [
  { name: 'version', value: ({ version }: Row) => version, compare: (a: unknown, b: unknown) => compareVersions(String(a), String(b)) },
  { name: 'batch', value: ({ batch }: Row) => batch },
];
interface Row {
  readonly key: string;
  readonly version: string | null;
  readonly batch: number | null;
}
const row = (key: string, version: string | null, batch: number | null): Row => ({ key, version, batch });
const keysBy = (sort: string | undefined, rows: readonly Row[], rank: (row: Row) => number = () => 0) =>
  inOrder(rows, { columns, sort, rank }).map(({ key }) => key);

test('versions are compared by their numbers, and what leads up to a release stands before it', () => {
  const rows = ['4.9.0', '4.18.10', '4.18.9', '4.18.0', '4.18.0-rc.10', '4.18.0-rc.2', 'v1.34.2'].map((version) =>
    row(version, version, null),
  );
  const wanted = ['4.9.0', '4.18.0-rc.2', '4.18.0-rc.10', '4.18.0', '4.18.9', '4.18.10', 'v1.34.2'];
  expect(keysBy('version', rows)).toEqual(wanted);
  expect(keysBy('-version', rows)).toEqual(wanted.toReversed());
});

test('rows without a value stand last either way, and names with numbers in the order of these', () => {
  const rows = [row('site-10', null, null), row('site-9', null, 10), row('site-8', null, 9)];
  expect(keysBy('batch', rows)).toEqual(['site-8', 'site-9', 'site-10']);
  expect(keysBy('-batch', rows)).toEqual(['site-9', 'site-8', 'site-10']);
  expect(keysBy(undefined, rows)).toEqual(['site-8', 'site-9', 'site-10']);
});

test('rows that matter more stand first until a column is asked for', () => {
  const rows = [row('a', null, 2), row('b', null, 1)];
  expect(keysBy(undefined, rows, ({ batch }) => batch ?? 0)).toEqual(['b', 'a']);
  expect(keysBy('-nothing-of-that-name', rows, ({ batch }) => batch ?? 0)).toEqual(['b', 'a']);
});
