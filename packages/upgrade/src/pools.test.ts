import { expect, test } from 'vitest';
import { buildPool } from '../testing/upgrade-builders.ts';
import { poolConfigurations, workerMinutes, workerPools } from './pools.ts';

const pool = (name: string, machineCount: number, updatedMachineCount: number, wanted?: string, had = wanted, paused = false) =>
  buildPool(name, { configuration: { name: wanted }, paused }, { machineCount, updatedMachineCount, configuration: { name: had } });

test.each([
  { name: 'all have it', pools: [pool('worker', 2, 2, 'new')], want: { remaining: 0, isUpgrading: false } },
  { name: 'some have it', pools: [pool('worker', 3, 1, 'new', 'old')], want: { machines: 3, updated: 1, remaining: 2, isUpgrading: true } },
  {
    name: 'another pool is not done',
    pools: [pool('worker', 2, 2, 'new'), pool('infra', 1, 0, 'new', 'old')],
    want: { remaining: 1, isUpgrading: true },
  },
  {
    name: 'the control plane does not count',
    pools: [pool('worker', 2, 2, 'new'), pool('master', 3, 0, 'new', 'old')],
    want: { isUpgrading: false },
  },
  { name: 'a paused pool does not count', pools: [pool('worker', 2, 0, 'new', 'old', true)], want: { machines: 0, isUpgrading: false } },
  { name: 'its machines do not know yet', pools: [pool('worker', 2, 2, 'new', 'old')], want: { remaining: 0, isUpgrading: true } },
  { name: 'an empty pool waits for nobody', pools: [pool('infra', 0, 0, 'new', 'old')], want: { isUpgrading: false } },
  { name: 'a pool without status', pools: [buildPool('worker', {}, {})], want: { machines: 0, isUpgrading: false } },
])('$name', ({ pools, want }) => expect(workerPools(pools)).toMatchObject(want));

test('a pool from before that is not seen has not begun; one that is paused or empty by now is seen', () => {
  expect(workerPools([], { worker: 'old' }).untouched).toEqual(['worker']);
  const pools = [pool('worker', 2, 2, 'old', 'old', true), pool('infra', 0, 0, 'old')];
  expect(workerPools(pools, { worker: 'old', infra: 'old' }).untouched).toEqual([]);
});

test('a pool that has the configuration from before has not begun', () => {
  const pools = [pool('worker', 2, 2, 'old'), pool('infra', 1, 1, 'new')];
  expect(workerPools(pools, { worker: 'old', infra: 'old' }).untouched).toEqual(['worker']);
  expect(poolConfigurations([...pools, pool('master', 3, 3, 'old')])).toEqual({ worker: 'old', infra: 'new' });
});

test('two workers, 60, 45 and 8 minutes: 136 minutes', () =>
  expect(workerMinutes(2, { forceDrain: 60, drainTimeOut: 45, expectedDrain: 8 })).toBe(136));
