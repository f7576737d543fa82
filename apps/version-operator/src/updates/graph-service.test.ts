import { startUpdateService, type UpdateService } from '@flotilla/control-plane/servers';
import { FollowingConnections } from '@flotilla/http';
import { playChains, playRedirects, redirectsByRule, trustByRule } from '@flotilla/http/testing';
import type { UpdateQuery } from '@flotilla/release';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ServiceWorld, serviceWorld } from '../../testing/update-service-case.ts';
import { askGraphService } from './graph-service.ts';

let world: ServiceWorld<UpdateService>;
beforeEach(async () => {
  world = serviceWorld(await startUpdateService());
});
afterEach(() => world[Symbol.asyncDispose]());

const nodes = ['4.20.1', '4.20.2'].map((version) => ({ version, payload: `r@sha256:${version}` }));
const ask = (more: Partial<UpdateQuery> = {}, { signal = new AbortController().signal, timeoutMs = 10_000 } = {}) =>
  askGraphService(
    {
      query: {
        service: world.service.url,
        clusterId: '0b9a2a1e-7e4b-4d3c-9f6e-0123456789ab',
        architecture: 'amd64',
        channel: 'stable-4.20',
        version: '4.20.1',
        ...more,
      },
      isMigration: false,
      signal,
    },
    { connections: world.connections, timeoutMs },
  );

test('asks with what decides about updates, under the name services know', async () => {
  world.service.setGraph({ nodes, edges: [[0, 1]] });
  expect(await ask()).toMatchObject({ current: { version: '4.20.1' }, updates: [{ version: '4.20.2', image: 'r@sha256:4.20.2' }] });
  expect(world.service.asked).toMatchObject([
    {
      path: '/graph',
      query: { arch: 'amd64', channel: 'stable-4.20', id: '0b9a2a1e-7e4b-4d3c-9f6e-0123456789ab', version: '4.20.1' },
      headers: { accept: 'application/json', 'user-agent': 'ClusterVersionOperator/4.20.1' },
    },
  ]);
});

/** Asks a service for a graph with connections of its own. */
async function askOnce(url: URL, ca: string): Promise<string> {
  await using connections = new FollowingConnections(() => ({ ca }));
  const query = {
    service: url.href,
    clusterId: '0b9a2a1e-7e4b-4d3c-9f6e-0123456789ab',
    architecture: 'amd64',
    channel: 'c',
    version: '4.20.1',
  };
  const { signal } = new AbortController();
  return JSON.stringify(await askGraphService({ query, isMigration: false, signal }, { connections, timeoutMs: 10_000 }));
}

test('follows redirects by the rule of the house', async () => {
  expect(await playRedirects((url, { ca }) => askOnce(url, ca))).toEqual(redirectsByRule(''));
});

test('trusts a CA bundle as Go does', async () => {
  expect(await playChains(askOnce)).toEqual(trustByRule);
});

describe('a service that is not well', () => {
  test.each([
    {
      name: 'refuses',
      fault: { status: 503 },
      want: { reason: 'ResponseFailed', message: 'Unable to retrieve available updates: unexpected HTTP status: 503 Service Unavailable' },
    },
    {
      name: 'hangs up',
      fault: { cut: true },
      want: { reason: 'RemoteFailed', message: expect.stringMatching(/^Unable to retrieve available updates: ./) },
    },
    { name: 'sends half', fault: { half: true, body: '{"nodes":[]}' }, want: { reason: 'RemoteFailed' } },
    {
      name: 'is slow',
      fault: { delayMs: 20_000 },
      timeoutMs: 300,
      want: { reason: 'RemoteFailed', message: 'Unable to retrieve available updates: no complete answer within 300 ms' },
    },
    { name: 'sends a page', fault: { body: '<html>' }, want: { reason: 'ResponseInvalid' } },
    {
      name: 'sends versions that are none',
      fault: { body: '{"nodes":[{"version":"latest"}]}' },
      want: {
        reason: 'ResponseInvalid',
        message: 'Unable to retrieve available updates: nodes.0.version: "latest" is not a semantic version',
      },
    },
    { name: 'sends edges to nowhere', fault: { body: '{"nodes":[],"edges":[[0,7]]}' }, want: { reason: 'ResponseInvalid' } },
    {
      name: 'does not know the running release',
      fault: { body: '{"nodes":[]}' },
      want: {
        reason: 'VersionNotFound',
        message:
          'Unable to retrieve available updates: currently reconciling cluster version 4.20.1 not found in the "stable-4.20" channel',
      },
    },
    {
      name: 'sends more than is read',
      fault: { body: ' '.repeat(2 ** 23 + 1) },
      timeoutMs: 25_000,
      want: { reason: 'RemoteFailed', message: expect.stringMatching(/more than 8388608 bytes$/) },
    },
  ])('$name', async ({ fault, want, timeoutMs }) => {
    world.service.setFaults({ path: /^GET \/graph/, ...fault });
    expect(await ask({}, { timeoutMs })).toMatchObject(want);
  });

  test('is not there, and its password is for nobody', async () => {
    await world.service.stop();
    const answer = await ask({ service: world.service.url.replace('http://', 'http://user:secret@') });
    expect(answer).toMatchObject({ reason: 'RemoteFailed', message: expect.stringMatching(/ECONNREFUSED/) });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });
});

test('goes through the proxy of the moment', async () => {
  await using proxy = await startUpdateService();
  proxy.setFaults({ body: JSON.stringify({ nodes, edges: [[0, 1]] }) });
  await world[Symbol.asyncDispose]();
  let through: string | undefined;
  world = serviceWorld(await startUpdateService(), () => ({ proxy: { http: through } }));
  expect(await ask({ service: 'http://graph.invalid/graph' })).toMatchObject({ reason: 'RemoteFailed' });
  through = proxy.monitoringUrl;
  expect(await ask({ service: 'http://graph.invalid/graph' })).toMatchObject({ updates: [{ version: '4.20.2' }] });
  expect(proxy.asked).toHaveLength(1);
});

test('a stop is no answer of the service', async () => {
  const stop = new AbortController();
  world.service.setFaults({ delayMs: 5_000 });
  const asked = ask({}, { signal: stop.signal });
  stop.abort(new Error('stopped'));
  await expect(asked).rejects.toThrow('stopped');
});
