import { expect, test } from 'vitest';
import { type FileGroup, fileGroupOf } from './grouping.ts';
import { permuteOrder, shiftOrder } from './plan.ts';

test.each<{ name: string; want: FileGroup | undefined }>([
  { name: '0000_03_authorization-openshift_01_rb.crd.yaml', want: { level: '03', component: 'authorization-openshift' } },
  { name: '0000_5_a_x', want: { level: '5', component: 'a' } },
  { name: '0000_05_a_x', want: { level: '05', component: 'a' } },
  { name: '0000_50_a_b_c', want: { level: '50', component: 'a' } },
  { name: '0001_50_a_x', want: undefined },
  { name: '0000_50_a.b_x', want: undefined },
  { name: '0000_50_a-_x', want: undefined },
  { name: '0000_50_-a_x', want: undefined },
  { name: '0000_50_a--b_x', want: undefined },
  { name: '0000_50_a', want: undefined },
])('$name', ({ name, want }) => expect(fileGroupOf({ file: `release-manifests/${name}` })).toEqual(want));

/** Nodes without tasks, told apart by their identity. */
const nodes = (length: number) => Array.from({ length }, () => []);

test.each([
  { length: 3, want: [0, 1, 2, 0, 1, 2, 0, 1] },
  { length: 10, want: [0, 1, 2, 3, 5, 6, 7, 8] },
  { length: 100, want: [0, 12, 25, 37, 50, 62, 75, 87] },
])('$length nodes begin where the step says', ({ length, want }) => {
  const bucket = nodes(length);
  const firsts = want.map((_, step) => bucket.findIndex((node) => Object.is(node, shiftOrder([bucket], step, 8)[0]?.[0])));
  expect(firsts).toEqual(want);
});

test('a seed decides on an order of all nodes', () => {
  const bucket = nodes(50);
  const order = (seed: number) => (permuteOrder([bucket], seed)[0] ?? []).map((node) => bucket.findIndex((one) => Object.is(one, node)));
  expect(order(1)).toEqual(order(1));
  expect(order(1)).not.toEqual(order(2));
  expect(order(0)).not.toEqual(bucket.keys().toArray());
  expect(order(1).sort((a, b) => a - b)).toEqual(bucket.keys().toArray());
});
