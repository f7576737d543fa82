import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import type { Meant } from '../upgrade/model.ts';
import { groupMeant, readMeant, rememberMeant } from './meant.ts';

const seen: Record<string, Meant[]> = {
  a: ['meant', 'meant'],
  b: ['meant', 'notMeant'],
  c: [undefined, 'meant'],
  d: ['meant', 'notMeant'],
};
const meant = (cluster: string, index: number) => seen[cluster]?.[index];
const statusOf = (status: object) =>
  ClusterGroupUpgradeStatus.parse({
    remediationPlan: [
      ['a', 'b'],
      ['c', 'd'],
    ],
    status: {},
    ...status,
  });

test('clusters are grouped by the policies that are meant for them, and read as they were', () => {
  const policyReach = groupMeant(['a', 'b', 'c', 'd'], 2, meant);
  expect(policyReach).toEqual([
    { clusters: ['b', 'd'], meant: [0], notMeant: [1] },
    { clusters: ['c'], meant: [1], notMeant: [] },
  ]);
  const read = readMeant(statusOf({ policyReach }));
  for (const [cluster, each] of Object.entries(seen)) expect([read(cluster, 0), read(cluster, 1)], cluster).toEqual(each);
  expect(read('stranger', 0)).toBeUndefined();
});

test('without the field, the policy that a cluster is at was meant for it, and of no other one is known', () => {
  const read = readMeant(statusOf({ status: { currentBatchRemediationProgress: { a: { state: 'InProgress', policyIndex: 1 } } } }));
  expect([read('a', 0), read('a', 1), read('b', 0)]).toEqual([undefined, 'meant', undefined]);
});

test('what is seen later is remembered, of groups and of clusters that join', () => {
  const before = statusOf({ policyReach: [{ clusters: ['c'], meant: [], notMeant: [] }] });
  expect(rememberMeant(before, { count: 2, meant }, ['b']).policyReach).toEqual([
    { clusters: ['c'], meant: [1], notMeant: [] },
    { clusters: ['b'], meant: [0], notMeant: [1] },
  ]);
  expect(rememberMeant(before, { count: 2, meant: () => 'meant' }).policyReach).toEqual([]);
});

test('nothing is remembered where nothing was, or where the reference decides', () => {
  const [whole, reference] = [statusOf({}), statusOf({ policyReach: [] })];
  expect(rememberMeant(whole, { count: 2, meant })).toBe(whole);
  expect(rememberMeant(reference, { count: 2 })).toBe(reference);
});
