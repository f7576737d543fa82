import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeSpec, type PrecacheState } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { FirstSeen, type UpgradePlan } from '@flotilla/rollout';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HubProcess, MemoryHub } from '../../testing/memory-hub.ts';
import { clusterObject } from '../../testing/observation-builders.ts';
import type { PrecachingReport } from './status-jobs.ts';
import { formNextWave, judgeFirstWave } from './waves.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const MINUTE = 60_000;
const OPENS = '2026-01-01T03:00:00Z';
const clusters = ['a', 'b', 'c'];

let hub: MemoryHub;
let leader: HubProcess;
beforeEach(async () => {
  hub = new MemoryHub();
  leader = await hub.process();
});
afterEach(() => hub.stop());

/** The clusters are there, those named with these annotations. */
async function fleet(annotations: Readonly<Record<string, Readonly<Record<string, string>>>> = {}): Promise<void> {
  for (const name of clusters) {
    const { metadata, ...rest } = clusterObject(true);
    hub.put(ManagedCluster, { ...rest, metadata: { ...metadata, name, annotations: annotations[name] } });
  }
  await settled(() => expect(leader.caches.clusters.size).toBe(clusters.length));
}

const upgrade = (more: Partial<ClusterGroupUpgrade> = {}, least = '1'): ClusterGroupUpgrade => ({
  metadata: {
    name: 'u',
    namespace: 'ran',
    uid: 'u',
    annotations: { [Annotation.waves]: 'ready', [Annotation.wavePatience]: '10m', [Annotation.waveMin]: least },
  },
  spec: ClusterGroupUpgradeSpec.parse({ preCaching: true, remediationStrategy: { maxConcurrency: 2 } }),
  ...more,
});
/** First sightings of a pass now, after one that was so many minutes before. */
function sightingsAfter(minutes: number, what: string) {
  const seen = new FirstSeen();
  seen.pass('u', NOW - minutes * MINUTE).since(what);
  return seen.pass('u', NOW);
}

type Status = ClusterGroupUpgrade['status'];

describe('the first batch', () => {
  const plan = { batches: [['a', 'b'], ['c']], computedMaxConcurrency: 2, stopped: undefined } as unknown as UpgradePlan;
  const first = (states: Readonly<Record<string, PrecacheState>>, { minutes = 0, least = '1', status = undefined as Status } = {}) =>
    judgeFirstWave(upgrade({ status }, least), plan, {
      caches: leader.caches,
      talmStrict: false,
      now: NOW,
      sightings: sightingsAfter(minutes, 'wave 0'),
      precaching: {
        rollUp: { finished: false, failed: [] },
        spokes: new Map(Object.entries(states).map(([cluster, state]) => [cluster, { state }])),
      } as unknown as PrecachingReport,
    });

  test('is looked at again when its patience is over, and after that only by events', async () => {
    await fleet();
    expect(first({ a: 'Succeeded' })).toEqual({ isReady: false, at: NOW + 10 * MINUTE });
    expect(first({ a: 'Succeeded' }, { minutes: 4, least: '2' })).toEqual({ isReady: false, at: NOW + 6 * MINUTE });
    expect(first({ a: 'Succeeded' }, { minutes: 11, least: '2' })).toEqual({ isReady: false, at: undefined });
    expect(first({ a: 'Succeeded' }, { minutes: 11 })).toEqual({ isReady: true, at: undefined });
    expect(first({ a: 'Succeeded', c: 'Succeeded' })).toEqual({ isReady: true, at: undefined });
  });

  test('has its patience since pulls began, whoever leads', async () => {
    await fleet();
    const began = new Date(NOW - 7 * MINUTE).toISOString();
    const pulls = { type: 'PrecachingSuceeded', status: 'False', reason: 'InProgress', message: '', lastTransitionTime: began } as const;
    expect(first({ a: 'Succeeded' }, { status: { status: {}, conditions: [pulls] } })).toEqual({ isReady: false, at: NOW + 3 * MINUTE });
  });

  test('is looked at again when the hours of a cluster begin', async () => {
    await fleet({ b: { [Annotation.windowStart]: OPENS }, c: { [Annotation.hold]: '' } });
    const all = { a: 'Succeeded', b: 'Succeeded', c: 'Succeeded' } as const;
    expect(first(all, { minutes: 11, least: '2' })).toEqual({ isReady: false, at: Date.parse(OPENS) });
  });
});

describe('a batch that comes next', () => {
  const next = (states: Readonly<Record<string, PrecacheState>>, talmStrict = false) =>
    formNextWave(
      upgrade({
        status: {
          remediationPlan: [['a', 'b'], ['c']],
          computedMaxConcurrency: 2,
          precaching: { status: { ...states } },
          status: { currentBatch: 1 },
        },
      }),
      { caches: leader.caches, talmStrict, now: NOW, sightings: sightingsAfter(11, 'wave 1'), isOpen: true },
    );

  test('takes who is cached, may begin and is there, and is looked at again when hours begin', async () => {
    await fleet({ a: { [Annotation.windowStart]: OPENS } });
    const { status, refuse, at } = next({ a: 'Succeeded', b: 'Active', c: 'Succeeded' });
    expect(status.remediationPlan).toEqual([['c'], ['a', 'b']]);
    expect(refuse?.(1)).toBeUndefined();
    expect(at).toBe(Date.parse(OPENS));
  });

  test('asks each of its clusters for first edits and images, also in a rollout that began by the list', async () => {
    await fleet();
    expect(next({ a: 'Succeeded', b: 'Active', c: 'Succeeded' }).status).toMatchObject({
      remediationPlan: [['a', 'c'], ['b']],
      batchesAtStart: 0,
    });
  });

  test('strictly is that of the list', async () => {
    await fleet();
    const { status, refuse } = next({ c: 'Succeeded' }, true);
    expect([status.remediationPlan, refuse]).toEqual([[['a', 'b'], ['c']], undefined]);
  });
});
