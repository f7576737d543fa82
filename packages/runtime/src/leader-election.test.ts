import type { KubeObject } from '@flotilla/api';
import { Lease } from '@flotilla/api/core';
import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import type { Client } from './client.ts';
import { ApiError, RuntimeErrorCode } from './errors.ts';
import { type LeaseOptions, runWithLease } from './leader-election.ts';

const refusal = (code: string, status: number) => new ApiError(code, 'lease', { status, reason: '', serverMessage: '' });

/** The three calls of the election over one lease with real compare-and-set; `down` makes a contender's calls fail. */
class LeaseServer {
  lease: Lease | undefined;
  readonly down = new Set<string>();
  #version = 0;

  client(who: string): Client {
    const write = async (_kind: unknown, object: KubeObject): Promise<never> => {
      this.#check(who);
      const stored = this.lease?.metadata.resourceVersion;
      if (object.metadata.resourceVersion !== stored)
        throw refusal(stored && !object.metadata.resourceVersion ? RuntimeErrorCode.alreadyExists : RuntimeErrorCode.conflict, 409);
      this.lease = Lease.schema.parse(
        structuredClone({ ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } }),
      );
      return structuredClone(this.lease) as never;
    };
    const read = async (): Promise<never> => {
      this.#check(who);
      return structuredClone(this.lease) as never;
    };
    // Only what the election calls; anything else would fail loudly.
    return { server: 'test', get: read, create: write, replace: write } as unknown as Client;
  }

  #check(who: string): void {
    if (this.down.has(who)) throw refusal(RuntimeErrorCode.unreachable, 0);
  }
}

function contend(server: LeaseServer, clock: ManualClock, identity: string, skewMs = 0) {
  const stop = new AbortController();
  const log: string[] = [];
  const skewed: LeaseOptions['clock'] = { now: () => clock.now() + skewMs, setTimer: (ms, fn) => clock.setTimer(ms, fn) };
  const done = runWithLease({
    client: server.client(identity),
    ref: { namespace: 'n', name: 'l' },
    identity,
    clock: skewed,
    signal: stop.signal,
    onStartedLeading: async (signal) => {
      log.push(`leads at ${clock.now() % 1_000_000}`);
      leading.add(identity);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      leading.delete(identity);
    },
  });
  const leading = leaders;
  return { stop, done, log };
}
const leaders = new Set<string>();

test('one of two leads; when it stops, the other takes over at once and not before', async () => {
  const [server, clock] = [new LeaseServer(), new ManualClock()];
  const a = contend(server, clock, 'a');
  await clock.advance(10);
  const b = contend(server, clock, 'b', 3_600_000);
  await clock.advance(120_000);
  expect([...leaders]).toEqual(['a']);
  a.stop.abort();
  await a.done;
  expect(server.lease?.spec?.holderIdentity).toBe('');
  await clock.advance(3_000);
  expect([...leaders]).toEqual(['b']);
  expect(server.lease?.spec?.leaseTransitions).toBe(1);
  b.stop.abort();
  await b.done;
});

test('a leader that cannot renew stops leading before another begins, however wrong its clock', async () => {
  const [server, clock] = [new LeaseServer(), new ManualClock()];
  const a = contend(server, clock, 'a', -7_200_000);
  await clock.advance(10);
  const b = contend(server, clock, 'b', 7_200_000);
  await clock.advance(30_000);
  server.down.add('a');
  const seen: string[] = [];
  for (let ms = 0; ms < 30_000; ms += 250) {
    await clock.advance(250);
    expect(leaders.size).toBeLessThanOrEqual(1);
    seen.push([...leaders].join());
  }
  expect([...new Set(seen)]).toEqual(['a', '', 'b']);
  server.down.clear();
  await clock.advance(30_000);
  expect([...leaders]).toEqual(['b']);
  for (const one of [a, b]) one.stop.abort();
  await Promise.all([a.done, b.done]);
});

test('an outage shorter than the deadline changes nothing', async () => {
  const [server, clock] = [new LeaseServer(), new ManualClock()];
  const a = contend(server, clock, 'a');
  await clock.advance(5_000);
  server.down.add('a');
  await clock.advance(7_000);
  server.down.clear();
  await clock.advance(60_000);
  expect(a.log).toHaveLength(1);
  expect([...leaders]).toEqual(['a']);
  a.stop.abort();
  await a.done;
});

test('work that fails ends the election with its error and frees the lease', async () => {
  const [server, clock] = [new LeaseServer(), new ManualClock()];
  const done = runWithLease({
    client: server.client('a'),
    ref: { namespace: 'n', name: 'l' },
    identity: 'a',
    clock,
    signal: new AbortController().signal,
    onStartedLeading: () => Promise.reject(new Error('boom')),
  });
  await expect(done).rejects.toThrow('boom');
  expect(server.lease?.spec?.holderIdentity).toBe('');
});
