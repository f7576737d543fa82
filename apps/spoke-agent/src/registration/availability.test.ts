import { findCondition, type KubeObject, mergePatched } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster } from '@flotilla/api/ocm';
import { type Clock, createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { type AvailabilityDeps, reportAvailability, toAvailability, UNAVAILABLE_AFTER_MS } from './availability.ts';

test.each([
  { name: 'available while probes pass', failingSince: undefined, want: 'True' },
  { name: 'nothing new while a failure is young', failingSince: 1_000_000 - UNAVAILABLE_AFTER_MS + 1, want: undefined },
  { name: 'unavailable after twenty seconds', failingSince: 1_000_000 - UNAVAILABLE_AFTER_MS, want: 'False' },
])('$name', ({ failingSince, want }) => {
  const condition = toAvailability({ failingSince, error: 'connection refused' }, 1_000_000);
  expect(condition?.status).toBe(want);
  if (want === 'False')
    expect(condition).toMatchObject({
      reason: 'ManagedClusterKubeAPIServerUnavailable',
      message: expect.stringContaining('connection refused'),
    });
});

/** Fakes a hub with one ManagedCluster, a scripted spoke, and a clock that jumps to the next timer; `onTick` sees each jump. */
function world(onTick: (elapsedMs: number, stop: () => void) => void) {
  const stopping = new AbortController();
  const start = Date.parse('2026-01-01T00:00:00Z');
  let now = start;
  const state = { cluster: undefined as KubeObject | undefined, spokeAnswers: true, writes: 0 };
  const clock: Clock = {
    now: () => now,
    setTimer(ms, fn) {
      setImmediate(() => {
        now += ms;
        onTick(now - start, () => stopping.abort());
        fn();
      });
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const deps: AvailabilityDeps = {
    clusterName: 'spoke-1',
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
    spoke: { getText: async () => (state.spokeAnswers ? 'ok' : Promise.reject(new Error('connection refused'))) },
    hub: {
      get: async (kind) => (state.cluster ? kind.schema.parse(state.cluster) : undefined),
      async patch(kind, _ref, patch) {
        state.writes += 1;
        state.cluster = ManagedCluster.schema.parse(mergePatched(state.cluster, patch));
        return kind.schema.parse(state.cluster);
      },
    },
  };
  const status = () => findCondition(ManagedCluster.schema.safeParse(state.cluster).data?.status?.conditions, CLUSTER_AVAILABLE)?.status;
  return { state, status, run: () => reportAvailability(deps, stopping.signal) };
}

const cluster = (status?: string): KubeObject => ({
  metadata: { name: 'spoke-1' },
  ...(status
    ? {
        status: {
          conditions: [{ type: CLUSTER_AVAILABLE, status, reason: 'Old', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
        },
      }
    : {}),
});

test('turns Unknown, which the hub sets while the spoke is out of reach, back to True within a minute', async () => {
  const w = world((elapsed, stop) => {
    if (elapsed === 10_000) w.state.cluster = cluster('Unknown');
    if (elapsed === 70_000) stop();
  });
  w.state.cluster = cluster();
  await w.run();
  expect(w.status()).toBe('True');
  expect(w.state.writes).toBe(2);
});

test('reports to a ManagedCluster that is created later', async () => {
  const w = world((elapsed, stop) => {
    if (elapsed === 30_000) w.state.cluster = cluster();
    if (elapsed === 40_000) stop();
  });
  await w.run();
  expect(w.status()).toBe('True');
});

test('follows the spoke down after twenty seconds and up again, with one write each', async () => {
  const seen: [number, string | undefined][] = [];
  const w = world((elapsed, stop) => {
    w.state.spokeAnswers = elapsed < 10_000 || elapsed > 60_000;
    seen.push([elapsed, w.status()]);
    if (elapsed === 80_000) stop();
  });
  w.state.cluster = cluster();
  await w.run();
  expect(seen.filter(([, status]) => status === 'False').map(([elapsed]) => elapsed)).toEqual([
    35_000, 40_000, 45_000, 50_000, 55_000, 60_000, 65_000,
  ]);
  expect(w.status()).toBe('True');
  expect(w.state.writes).toBe(3);
});
