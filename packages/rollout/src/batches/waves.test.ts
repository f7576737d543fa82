import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { WHOLE_UPGRADE, waitMessage } from '../waits/wait.ts';
import { formWave, isFirstReady } from './waves.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const MINUTE = 60_000;
const waves = { least: 2, patienceMs: 10 * MINUTE };

describe('the first batch', () => {
  const first = (ready: string, { canaries = '', planned = 'abcdef', minutes = 0 } = {}) =>
    isFirstReady({
      waves,
      planned: planned.split(''),
      canaries: canaries.split(''),
      isReady: (cluster) => ready.includes(cluster),
      size: 3,
      since: NOW - minutes * MINUTE,
      now: NOW,
    });

  test('begins at once when it is full, else after the patience, and never with fewer than the least', () => {
    expect(first('bdf')).toBe(true);
    expect(first('bd')).toBe(false);
    expect(first('bd', { minutes: 9 })).toBe(false);
    expect(first('bd', { minutes: 10 })).toBe(true);
    expect(first('b', { minutes: 99 })).toBe(false);
    expect(first('', { minutes: 99 })).toBe(false);
  });

  test('of fewer clusters than the least begins with all of them', () => {
    expect(first('a', { planned: 'a' })).toBe(true);
    expect(first('', { planned: 'a', minutes: 99 })).toBe(false);
  });

  test('is that of the canaries, all of them', () => {
    expect(first('abc', { canaries: 'ef' })).toBe(false);
    expect(first('e', { canaries: 'ef', minutes: 99 })).toBe(false);
    expect(first('ef', { canaries: 'ef' })).toBe(true);
  });

  test('does not wait for a canary that is not in the plan', () => {
    expect(first('abc', { canaries: 'x' })).toBe(true);
  });
});

describe('a batch that comes next', () => {
  const plan = [['x'], ['a', 'b'], ['c', 'd'], ['e']];
  const status = (currentBatch: number, more: Partial<ClusterGroupUpgradeStatus> = {}, startedAt?: string): ClusterGroupUpgradeStatus => ({
    remediationPlan: plan,
    computedMaxConcurrency: 2,
    status: { currentBatch, ...(startedAt !== undefined && { currentBatchStartedAt: startedAt }) },
    ...more,
  });
  const form = (before: ClusterGroupUpgradeStatus, ready: string, { minutes = 0, isOpen = true, least = 2 } = {}) =>
    formWave(before, {
      waves: { ...waves, least },
      isReady: (cluster) => ready.includes(cluster),
      canaries: ['x'],
      since: () => NOW - minutes * MINUTE,
      isOpen,
      now: NOW,
    });

  test('takes the ready in the order of the plan, and the others follow in theirs', () => {
    const { status: after, refuse } = form(status(2), 'edb');
    expect(after.remediationPlan).toEqual([['x'], ['b', 'd'], ['a', 'c'], ['e']]);
    expect(refuse(2)).toBeUndefined();
    expect(refuse(3)?.progressing?.message).toBe('Batch 3 is filled with the next pass');
  });

  test('waits until it is full or its patience is over, and says how full it is', () => {
    const { status: after, refuse } = form(status(3), 'c', { least: 1 });
    expect(after.remediationPlan).toEqual(plan);
    expect(refuse(3)).toMatchObject({
      gate: 'wave',
      wakeAt: NOW + 10 * MINUTE,
      wait: {
        cause: 'wave',
        says: 'batch 3 is filled with clusters that are ready: 1 of 2, of 3 that are left',
        since: NOW,
        until: NOW + 10 * MINUTE,
      },
    });
    expect(form(status(3), 'c', { least: 1, minutes: 10 }).status.remediationPlan).toEqual([['x'], ['a', 'b'], ['c'], ['d', 'e']]);
  });

  test('goes on with the patience that a leader before it has stored, of the same batch', () => {
    const wait = form(status(3), 'c', { least: 1, minutes: 9 }).refuse(3)?.wait ?? expect.fail('no wait');
    const stored = (batch: number) => ({
      messages: { [WHOLE_UPGRADE]: waitMessage({ ...wait, says: wait.says.replace('3', `${batch}`) }) },
    });
    expect(form(status(3, stored(3)), 'c', { least: 1 }).refuse(3)).toMatchObject({ wakeAt: NOW + MINUTE });
    expect(form(status(3, stored(30)), 'c', { least: 1 }).refuse(3)).toMatchObject({ wakeAt: NOW + 10 * MINUTE });
  });

  test('with fewer than the least has no end of its own', () => {
    expect(form(status(3), 'c', { minutes: 99 }).refuse(3)).toMatchObject({ wakeAt: undefined });
  });

  test('is not filled before the other gates are open, nor once it has begun, nor for canaries', () => {
    expect(form(status(2), 'cd', { isOpen: false }).status.remediationPlan).toEqual(plan);
    expect(form(status(2, {}, '2026-01-01T00:30:00Z'), 'cd').status.remediationPlan).toEqual(plan);
    expect(form(status(1), 'cd').status.remediationPlan).toEqual(plan);
    expect(form(status(1), '').refuse(1)).toBeUndefined();
    expect(form(status(0), '').refuse(1)).toBeUndefined();
  });

  test('counts nobody whose part has ended, and keeps them in the plan', () => {
    const recorded = status(3, { clusters: [{ name: 'c', state: 'failed' }] });
    expect(form(recorded, 'e', { least: 1, minutes: 10 }).status.remediationPlan).toEqual([['x'], ['a', 'b'], ['e'], ['c', 'd']]);
  });

  test('of clusters that have all ended begins, and is through', () => {
    const recorded = status(4, { clusters: [{ name: 'e', state: 'failed' }] });
    expect(form(recorded, '').refuse(4)).toBeUndefined();
  });
});
