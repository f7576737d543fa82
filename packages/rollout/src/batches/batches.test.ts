import { expect, test } from 'vitest';
import { computeMaxConcurrency, planBatches } from './batches.ts';

test.each([
  { name: 'uses what is asked for when it is less than all', asked: 2, count: 5, want: 2 },
  { name: 'means all by zero', asked: 0, count: 5, want: 5 },
  { name: 'means all by a negative number', asked: -1, count: 5, want: 5 },
  { name: 'never exceeds the number of clusters', asked: 9, count: 5, want: 5 },
  { name: 'is zero without clusters', asked: 3, count: 0, want: 0 },
])('the batch size $name', ({ asked, count, want }) => expect(computeMaxConcurrency(asked, count)).toBe(want));

const clusters = ['a', 'b', 'c', 'd', 'e'];
test.each([
  { name: 'fills batches in order', canaries: [], max: 2, done: '', batches: [['a', 'b'], ['c', 'd'], ['e']], compliant: [] },
  { name: 'puts all in one batch without a limit', canaries: [], max: 0, done: '', batches: [clusters], compliant: [] },
  {
    name: 'gives each canary a batch of its own, first',
    canaries: ['d', 'b'],
    max: 2,
    done: '',
    batches: [['d'], ['b'], ['a', 'c'], ['e']],
    compliant: [],
  },
  {
    name: 'leaves compliant clusters out and fills up behind them',
    canaries: [],
    max: 2,
    done: 'bd',
    batches: [['a', 'c'], ['e']],
    compliant: ['b', 'd'],
  },
  {
    name: 'leaves a compliant canary out, and lists it first',
    canaries: ['e'],
    max: 3,
    done: 'ae',
    batches: [['b', 'c', 'd']],
    compliant: ['e', 'a'],
  },
  { name: 'plans nothing when all are compliant', canaries: ['a'], max: 1, done: 'abcde', batches: [], compliant: clusters },
  {
    name: 'neither plans nor calls compliant a canary that is gone',
    canaries: ['x', 'a', 'a'],
    max: 9,
    done: '',
    batches: [['a'], ['b', 'c', 'd', 'e']],
    compliant: [],
  },
])('$name', ({ canaries, max, done, batches, compliant }) => {
  expect(planBatches({ clusters, canaries, maxConcurrency: max, isCompliant: (cluster) => done.includes(cluster) })).toEqual({
    batches,
    compliant,
  });
});
