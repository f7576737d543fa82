import { ManualClock } from '@flotilla/pace/testing';
import { describe, expect, test } from 'vitest';
import { MemoryAlertmanager } from '../../testing/memory-alertmanager.ts';
import { createSilences } from './silences.ts';

const MINUTE = 60_000;
const { signal } = new AbortController();

/** The operator's silences over an Alertmanager whose clock is ahead of ours. */
function world(aheadMs = 0) {
  const clock = new ManualClock();
  const alertmanager = new MemoryAlertmanager(clock);
  alertmanager.aheadMs = aheadMs;
  const silences = createSilences(alertmanager, clock);
  const beganAt = clock.now();
  return {
    clock,
    alertmanager,
    silences,
    startControlPlane: (minutes = 90, version = '4.14.12') =>
      silences.startControlPlane({ version, endsAt: clock.now() + minutes * MINUTE, criticalAlerts: ['ClusterOperatorDown'] }, signal),
    setWorkers: (remainingNodes: number, since = beganAt) =>
      silences.setWorkers({ version: '4.14.12', remainingNodes, endsAt: clock.now() + remainingNodes * 68 * MINUTE, since }, signal),
    isStanding: () => silences.isStanding(signal),
    standing: () =>
      alertmanager
        .peek()
        .filter(({ status }) => status.state !== 'expired')
        .map(({ comment, endsAt }) => `${comment.replace(/^Silence for /, '')} until +${(Date.parse(endsAt) - beganAt) / MINUTE}`),
  };
}

describe('the window of the workers', () => {
  test('that has run out counts as had: nothing silences what is late', async () => {
    const { clock, alertmanager, setWorkers, isStanding } = world();
    await setWorkers(2);
    expect(await isStanding()).toBe(true);
    for (let minute = 0; minute < 24 * 60; minute += 10) {
      await clock.advance(10 * MINUTE);
      await setWorkers(2);
    }
    expect(await isStanding()).toBe(false);
    expect(alertmanager.made).toBe(1);
  });

  test('is opened anew when one more is done, also after it has run out', async () => {
    const { clock, setWorkers, standing } = world();
    await setWorkers(2);
    await clock.advance(200 * MINUTE);
    await setWorkers(1);
    expect(standing()).toEqual(['OSD worker node upgrade to version 4.14.12 with remaining 1 nodes until +268']);
  });

  test('gets no longer when the number of those that are left goes to and fro', async () => {
    const { clock, alertmanager, setWorkers, standing } = world();
    for (const remaining of [3, 2, 3, 2, 3]) {
      await setWorkers(remaining);
      await clock.advance(10 * MINUTE);
    }
    expect(standing()).toEqual(['OSD worker node upgrade to version 4.14.12 with remaining 2 nodes until +146']);
    expect(alertmanager.made).toBe(2);
  });

  test.each([-2, 0, 2])('of an earlier attempt is none of this one, by a clock that is %i min ahead', async (ahead) => {
    const { clock, silences, setWorkers, standing } = world(ahead * MINUTE);
    await setWorkers(2);
    await silences.endWorkers(signal);
    await clock.advance(MINUTE);
    await setWorkers(2, Number.POSITIVE_INFINITY);
    expect(standing()).toEqual(['OSD worker node upgrade to version 4.14.12 with remaining 2 nodes until +137']);
  });

  test('is one at a time, also when a process died between two', async () => {
    const { alertmanager, setWorkers, standing } = world();
    await setWorkers(3);
    const expire = alertmanager.expire.bind(alertmanager);
    alertmanager.expire = () => Promise.reject(new Error('died'));
    await expect(setWorkers(2)).rejects.toThrow('died');
    // There is no moment without any.
    expect(standing()).toHaveLength(2);
    alertmanager.expire = expire;
    await setWorkers(2);
    expect(standing()).toEqual(['OSD worker node upgrade to version 4.14.12 with remaining 2 nodes until +136']);
  });
});

describe('the window of the control plane', () => {
  const both = (until: number) => [
    `OSD control plane upgrade to version 4.14.12 until +${until}`,
    `critical alerts during OSD control plane upgrade to version 4.14.12 until +${until}`,
  ];

  test('is opened for a second attempt as for the first', async () => {
    const { clock, silences, startControlPlane, standing } = world();
    await startControlPlane();
    await silences.endControlPlane(signal);
    await clock.advance(60 * MINUTE);
    expect(standing()).toEqual([]);
    await startControlPlane();
    expect(standing()).toEqual(both(150));
  });

  test('that an earlier attempt left open is made as long as this one needs it', async () => {
    const { clock, alertmanager, startControlPlane, standing } = world();
    await startControlPlane();
    await clock.advance(80 * MINUTE);
    await startControlPlane();
    expect(standing()).toEqual(both(170));
    expect(alertmanager.made).toBe(2);
  });

  test('is not written again when it is asked for again', async () => {
    const { clock, startControlPlane, standing } = world();
    await startControlPlane();
    await clock.advance(MINUTE);
    await startControlPlane();
    expect(standing()).toEqual(both(90));
  });
});

// An Alertmanager that is ten minutes behind keeps a new silence pending for a while.
describe.each([{ ahead: -10 }, { ahead: -2 }, { ahead: 2 }])('an Alertmanager whose clock is $ahead min ahead', ({ ahead }) => {
  test('gets one silence for each window, which stands at once', async () => {
    const { clock, alertmanager, startControlPlane, setWorkers, isStanding } = world(ahead * MINUTE);
    for (let pass = 0; pass < 20; pass += 1) {
      await startControlPlane();
      await setWorkers(2);
      expect(await isStanding()).toBe(true);
      await clock.advance(10_000);
    }
    expect(alertmanager.made).toBe(3);
    const states = alertmanager.peek().map(({ status }) => status.state);
    expect(new Set(states)).toEqual(new Set([ahead === -10 ? 'pending' : 'active']));
  });

  test('has none left that stands when the windows are closed', async () => {
    const { silences, startControlPlane, setWorkers, standing } = world(ahead * MINUTE);
    await startControlPlane();
    await setWorkers(2);
    await silences.endControlPlane(signal);
    await silences.endWorkers(signal);
    expect(standing()).toEqual([]);
  });
});
