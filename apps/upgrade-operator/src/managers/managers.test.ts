import { UpgradeConfig, type UpgradeConfigSpec } from '@flotilla/api/managed';
import { ManualClock } from '@flotilla/pace/testing';
import { createLogger } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { OcmCluster, OcmPolicy } from '../clients/ocm-answers.ts';
import { readOperatorConfig } from '../operator-config/read-config.ts';
import { byNextRun, channelOf, isActionable, specOf } from './ocm-policy.ts';
import { planRefresh } from './provider.ts';
import { jittered, runSync } from './sync-loop.ts';

const policy = (more: object = {}) => OcmPolicy.parse({ id: 'p', version: '4.14.12', next_run: '2026-01-01T02:00:00+02:00', ...more });
const cluster = (drain: object = { value: 60, unit: 'minutes' }) =>
  OcmCluster.parse({ id: 'c', version: { channel_group: 'stable' }, node_drain_grace_period: drain });

describe('a policy becomes an UpgradeConfig', () => {
  test('with everything that it says', () => {
    expect(specOf(policy(), cluster(), 'OSD')).toEqual({
      type: 'OSD',
      upgradeAt: '2026-01-01T00:00:00Z',
      PDBForceDrainTimeout: 60,
      desired: { version: '4.14.12', channel: 'stable-4.14' },
      capacityReservation: true,
    });
  });
  test('without extra workers where it says so', () => {
    expect(specOf(policy({ capacity_reservation: false }), cluster(), 'OSD')).toMatchObject({ capacityReservation: false });
  });
  test.each([
    [{ value: 2, unit: 'hours' }, 120],
    [{ value: 90, unit: 'seconds' }, 1],
    [{ value: 15.9 }, 15],
    [{}, 0],
  ])('a grace period of %j is %i minutes', (drain, minutes) => {
    expect(specOf(policy(), cluster(drain), 'OSD')).toMatchObject({ PDBForceDrainTimeout: minutes });
  });
  test.each([
    [{ version: '4.14' }, 'version "4.14" has no major and minor number'],
    [{ next_run: 'soon' }, 'next_run "soon" is no moment'],
  ])('%j cannot be read', (more, why) => expect(specOf(policy(more), cluster(), 'OSD')).toBe(why));
  test.each([
    ['4.14.12', 'stable', 'stable-4.14'],
    ['4.15.1', 'eus', 'eus-4.16'],
    ['4.16.1', 'eus', 'eus-4.16'],
    ['4.16.1-rc.1', 'candidate', 'candidate-4.16'],
    ['4.16.1', '', 'stable-4.16'],
    ['v4.16.1', '', undefined],
  ])('%s of group %j is in %s', (version, group, channel) => expect(channelOf(version, group)).toBe(channel));
  test.each([
    ['scheduled', true],
    ['started', true],
    ['delayed', true],
    ['failed', true],
    ['else', true],
    ['Pending', false],
    ['COMPLETED', false],
    ['cancelled', false],
  ])('in state %s: %s', (state, actionable) => {
    expect(isActionable(policy(), state)).toBe(actionable);
    expect(isActionable(policy({ version: '' }), state)).toBe(false);
  });
  test('the earliest one first, whatever the order', () => {
    const all = [
      policy({ id: 'none', next_run: '' }),
      policy({ id: 'late', next_run: '2026-01-02T00:00:00Z' }),
      policy({ id: 'early', next_run: '2026-01-01T00:00:00Z' }),
    ];
    expect(byNextRun(all).map(({ id }) => id)).toEqual(['early', 'late', 'none']);
  });
});

describe('an UpgradeConfig is made what its provider wants', () => {
  const spec: UpgradeConfigSpec = {
    type: 'OSD',
    upgradeAt: '2026-01-01T00:00:00Z',
    PDBForceDrainTimeout: 60,
    desired: { version: '4.14.12', channel: 'stable-4.14' },
    capacityReservation: true,
  };
  const stored = (phase?: string, change: object = {}) =>
    UpgradeConfig.schema.parse({
      metadata: { name: 'u' },
      spec: { ...spec, ...change },
      status: { history: phase ? [{ version: '4.14.12', phase }] : [] },
    });
  const other = { ...spec, upgradeAt: '2026-01-02T00:00:00Z' };
  test.each([
    { name: 'nothing there, nothing wanted', current: undefined, wanted: undefined, act: 'nothing' },
    { name: 'nothing there', current: undefined, wanted: spec, act: 'create' },
    { name: 'as wanted', current: stored('Pending'), wanted: spec, act: 'nothing' },
    {
      name: 'as wanted, written differently',
      current: stored('Pending', { upgradeAt: '2026-01-01T01:00:00+01:00' }),
      wanted: spec,
      act: 'nothing',
    },
    { name: 'not begun and different', current: stored('Pending'), wanted: other, act: 'change' },
    { name: 'without a history and different', current: stored(), wanted: other, act: 'change' },
    { name: 'sent and different', current: stored('Upgrading'), wanted: other, isSent: true, act: 'later' },
    { name: 'sent and not wanted', current: stored('Upgrading'), wanted: undefined, isSent: true, act: 'later' },
    { name: 'begun, not sent and different', current: stored('Upgrading'), wanted: other, act: 'change' },
    { name: 'begun, not sent and not wanted', current: stored('Upgrading'), wanted: undefined, act: 'remove' },
    { name: 'done and not wanted', current: stored('Upgraded'), wanted: undefined, isSent: true, act: 'remove' },
    { name: 'given up and different', current: stored('Failed'), wanted: other, act: 'change' },
    {
      name: 'without extra workers and different in that',
      current: stored('New', { capacityReservation: undefined }),
      wanted: spec,
      act: 'change',
    },
  ])('$name: $act', ({ current, wanted, isSent = false, act }) => expect(planRefresh(current, wanted, () => isSent).act).toBe(act));
});

describe('the sync', () => {
  const config = (source: string, watchInterval = 10) => ({
    config: readOperatorConfig(
      JSON.stringify({
        nodeDrain: { timeOut: 45 },
        configManager: { source, watchInterval, ocmBaseUrl: 'http://127.0.0.1:1', localConfigName: 'managed-upgrade-config' },
      }),
    ),
  });
  const minute = 60_000;
  function start({ results, current = config('OCM') }: { results: (boolean | Error)[]; current?: object }) {
    const clock = new ManualClock();
    const begin = clock.now();
    const stop = new AbortController();
    const asked: number[] = [];
    const synced: number[] = [];
    const state: { current: typeof current; wake: () => void } = { current, wake: () => undefined };
    const ended = runSync(
      {
        provider: {
          async refresh() {
            asked.push((clock.now() - begin) / minute);
            const result = results.shift() ?? false;
            if (result instanceof Error) throw result;
            return result;
          },
        },
        config: { current: () => state.current },
        clock,
        logger: createLogger({ name: 'test', level: 'silent' }),
        onSynced: (at) => void synced.push((at - begin) / minute),
        onWake: (listener) => {
          state.wake = listener;
        },
        random: () => 0.5,
      },
      stop.signal,
    );
    return { clock, stop, asked, synced, state, ended };
  }

  test('asks at once, then every interval, and says when', async () => {
    const { clock, stop, asked, synced, ended } = start({ results: [true, false, false] });
    await clock.advance(25 * minute);
    expect(asked).toEqual([0, 10, 20]);
    expect(synced).toEqual([0, 10, 20]);
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
  });

  test('after failures waits longer and longer, an hour at most, and begins anew after success', async () => {
    const { clock, stop, asked, synced, ended } = start({ results: [...Array.from({ length: 8 }, () => new Error('down')), true] });
    await clock.advance(260 * minute);
    expect(asked).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 193, 203, 213, 223, 233, 243, 253]);
    expect(synced[0]).toBe(183);
    stop.abort();
    await ended;
  });

  test('a change of the configuration takes effect at once', async () => {
    const { clock, stop, asked, state, ended } = start({ results: [], current: config('') });
    await clock.advance(5 * minute);
    expect(asked).toEqual([]);
    state.current = config('OCM', 2);
    state.wake();
    await clock.advance(3 * minute);
    expect(asked).toEqual([5, 7]);
    stop.abort();
    await ended;
  });

  test.each([
    [0, 54_000],
    [0.5, 60_000],
    [1, 66_000],
  ])('a minute is spread by a tenth: at %d it is %i ms', (random, ms) => expect(jittered(60_000, () => random)).toBe(ms));
});
