import { ManualClock } from '@flotilla/pace/testing';
import { type Client, createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { reportAvailability } from './availability.ts';
import { reportClaims } from './claims.ts';
import { keepLease } from './lease.ts';

/** A hub that answers nothing: a call ends with its signal, or with the test. */
function startSilentHub() {
  const asked = Promise.withResolvers<void>();
  const get = (_kind: unknown, _ref: unknown, { signal }: { readonly signal?: AbortSignal } = {}) => {
    asked.resolve();
    return new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  };
  return { hub: { get } as unknown as Client, asked: asked.promise };
}

/** A spoke with one node, on which everything is allowed. */
const spoke = {
  getText: async (path: string) =>
    JSON.stringify(path === '/version' ? { gitVersion: 'v1.33.2' } : path === '/apis' ? { groups: [] } : { metadata: {}, items: [] }),
  request: async () => ({ status: { allowed: true } }),
};
const common = { clusterName: 'c', clock: new ManualClock(), logger: createLogger({ name: 't', level: 'silent' }) };

test.each([-60, 0, undefined])('a lease of %s seconds is renewed as one that says none, not at once', async (leaseDurationSeconds) => {
  const clock = new ManualClock();
  const renewed: unknown[] = [];
  const hub = {
    get: async () => ({ metadata: { name: 'c' }, spec: { leaseDurationSeconds } }),
    patch: async (_kind: unknown, _ref: unknown, patch: { spec: { leaseDurationSeconds: number } }) =>
      void renewed.push(patch.spec.leaseDurationSeconds),
  } as unknown as Client;
  const stopping = new AbortController();
  const kept = keepLease({ ...common, clock, hub, random: () => 0 }, stopping.signal);
  await clock.advance(59_000);
  expect(renewed).toEqual([60]);
  await clock.advance(1_000);
  expect(renewed).toEqual([60, 60]);
  stopping.abort();
  await kept;
});

test.each([
  { name: 'the lease', keep: (hub: Client, signal: AbortSignal) => keepLease({ ...common, hub }, signal) },
  { name: 'availability', keep: (hub: Client, signal: AbortSignal) => reportAvailability({ ...common, hub, spoke }, signal) },
  {
    name: 'claims',
    keep: (hub: Client, signal: AbortSignal) =>
      reportClaims({ ...common, hub, spoke, workSpoke: undefined, makesPullerAccount: false }, signal),
  },
])('what keeps $name ends with the agent, though the hub does not answer', async ({ keep }) => {
  const { hub, asked } = startSilentHub();
  const stopping = new AbortController();
  const kept = keep(hub, stopping.signal);
  await asked;
  stopping.abort();
  expect(await kept).toBeUndefined();
});
