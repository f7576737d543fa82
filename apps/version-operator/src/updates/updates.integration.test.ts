import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { type ApiServer, startApiServer, startUpdateService, type UpdateService } from '@flotilla/control-plane/servers';
import { FollowingConnections, type Prometheus } from '@flotilla/http';
import { settled } from '@flotilla/pace/testing';
import { type Client, createLogger, logOnly, systemClock, WatchCache } from '@flotilla/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunningRelease } from './known-updates.ts';
import { openMonitoring } from './prometheus.ts';
import { startUpdates, type Updates } from './reconciler.ts';

let server: ApiServer;
let client: Client;
let service: UpdateService;
let updates: Updates;
let monitoring: Prometheus;
let stop: AbortController;
let changes: number;
let running: RunningRelease;
let gates: ReadonlySet<string>;
const connections = new FollowingConnections(() => ({}));
const logger = createLogger({ name: 'test', level: 'silent' });
const REF = { name: 'version' };

const nodes = ['4.20.1', '4.20.2', '4.20.3', '4.21.0'].map((version) => ({ version, payload: `r@sha256:${version}` }));
const risk = (name: string, promql: string) => ({
  name,
  message: `${name} bites.`,
  url: `https://example.com/${name}`,
  matchingRules: [{ type: 'PromQL', promql: { promql } }],
});
const conditional = (to: string, ...risks: object[]) => ({ edges: [{ from: '4.20.1', to }], risks });

/** Asks until the answer is a good one. */
const eventually = (ask: () => unknown) =>
  settled(
    async () => {
      if (!(await ask())) throw new Error(`not yet: ${JSON.stringify(updates?.known())}`);
    },
    { timeout: 30_000, interval: 50 },
  );

beforeAll(async () => {
  server = await startApiServer();
  client = await server.client();
  for (const crd of configCrds()) await client.create(CustomResourceDefinition, crd);
});
afterAll(async () => {
  await connections[Symbol.asyncDispose]();
  await server?.stop();
});

beforeEach(async () => {
  service = await startUpdateService();
  stop = new AbortController();
  changes = 0;
  running = { version: '4.20.1' };
  gates = new Set();
  const object = { metadata: REF, spec: { clusterID: '0b9a2a1e-7e4b-4d3c-9f6e-0123456789ab', upstream: service.url } };
  await eventually(() => client.create(ClusterVersion, object));
  monitoring = openMonitoring(service, { clock: systemClock, timeoutMs: 2_000 });
  updates = startUpdates(
    {
      versions: new WatchCache(client, ClusterVersion, { logger }),
      onTrouble: logOnly,
      running: () => running,
      featureGates: () => gates,
      settings: { machine: 'amd64' },
      service: { connections, timeoutMs: 2_000 },
      monitoring,
      everyMs: 300,
      onChange: () => changes++,
      clock: systemClock,
      logger,
    },
    stop.signal,
  );
});
afterEach(async () => {
  stop.abort();
  await updates.stopped;
  await client.delete(ClusterVersion, REF);
  await monitoring[Symbol.asyncDispose]();
  await service.stop();
});

const edit = (spec: object) => client.patch(ClusterVersion, REF, { spec }, { type: 'merge' });
const reason = () => updates.known()?.retrieved.reason;
const available = () => updates.known()?.available?.map(({ version }) => version) ?? [];
const recommended = (version: string) =>
  updates
    .known()
    ?.conditional.find(({ release }) => release.version === version)
    ?.conditions?.find(({ type }) => type === 'Recommended');
const isJson = (found: unknown, wanted: unknown) => JSON.stringify(found) === JSON.stringify(wanted);

test('nobody is asked before there is a channel, and at once when there is', async () => {
  service.setGraph({
    nodes,
    edges: [
      [0, 1],
      [0, 3],
    ],
  });
  await eventually(() => reason() === 'NoChannel');
  expect(service.asked).toEqual([]);
  await edit({ channel: 'stable-4.20' });
  await eventually(() => isJson(available(), ['4.21.0', '4.20.2']));
  expect(updates.known()?.retrieved).toEqual({ type: 'RetrievedUpdates', status: 'True' });
  expect(service.asked[0]?.query).toEqual({
    arch: 'amd64',
    channel: 'stable-4.20',
    id: '0b9a2a1e-7e4b-4d3c-9f6e-0123456789ab',
    version: '4.20.1',
  });
});

test('what is known stays while the service fails, goes with another channel, and is found again', async () => {
  service.setGraph({ nodes, edges: [[0, 1]] });
  await edit({ channel: 'stable-4.20' });
  await eventually(() => isJson(available(), ['4.20.2']));
  service.setFaults({ path: /^GET \/graph/, status: 500 });
  await eventually(() => reason() === 'ResponseFailed');
  expect(available()).toEqual(['4.20.2']);
  await edit({ channel: 'fast-4.20' });
  await eventually(() => available().length === 0);
  expect(reason()).toBe('ResponseFailed');
  service.setFaults();
  await eventually(() => isJson(available(), ['4.20.2']));
  expect(service.asked.at(-1)?.query.channel).toBe('fast-4.20');
});

test('a service that is no URL has nobody asked, not even the public one', async () => {
  service.setGraph({ nodes, edges: [[0, 1]] });
  await edit({ channel: 'stable-4.20' });
  await eventually(() => isJson(available(), ['4.20.2']));
  await edit({ upstream: 'not a url' });
  await eventually(() => reason() === 'InvalidURI');
  expect(updates.known()?.retrieved.message).toBe('failed to parse update service URL: "not a url" is not an http or https URL');
  expect(available()).toEqual([]);
});

test('an update to all architectures that accepts risks asks for theirs, where its gate is on', async () => {
  gates = new Set(['ClusterUpdateAcceptRisks']);
  service.setGraph({ nodes, edges: [[0, 1]] });
  const release = { version: '4.20.1', image: 'i' };
  const entry = {
    ...release,
    state: 'Completed',
    startedTime: '2026-01-01T00:00:00Z',
    completionTime: '2026-01-01T00:00:00Z',
    verified: false,
  };
  const status = { desired: release, observedGeneration: 1, versionHash: 'x', availableUpdates: [], history: [entry] };
  await client.patch(ClusterVersion, REF, { status }, { type: 'merge', subresource: 'status' });
  await edit({ channel: 'stable-4.20', desiredUpdate: { architecture: 'Multi', version: '4.20.1', acceptRisks: [{ name: 'Fire' }] } });
  await eventually(() => service.asked.at(-1)?.query.arch === 'multi');
});

test('another release asks for its own updates', async () => {
  service.setGraph({
    nodes,
    edges: [
      [0, 1],
      [1, 2],
    ],
  });
  await edit({ channel: 'stable-4.20' });
  await eventually(() => isJson(available(), ['4.20.2']));
  running = { version: '4.20.2' };
  await edit({ overrides: [] });
  await eventually(() => isJson(available(), ['4.20.3']));
});

describe('updates under conditions', () => {
  test('are recommended as monitoring says, and listed with why not', async () => {
    service.setGraph({
      nodes,
      edges: [[0, 1]],
      conditionalEdges: [conditional('4.20.3', risk('Leak', 'leaks')), conditional('4.21.0', risk('Crash', 'crashes'))],
    });
    service.setSamples({ leaks: [0], crashes: [1] });
    await edit({ channel: 'stable-4.20' });
    await eventually(() => recommended('4.20.3')?.status === 'True' && recommended('4.21.0')?.status === 'False');
    expect(available()).toEqual(['4.20.3', '4.20.2']);
    expect(recommended('4.21.0')).toMatchObject({ reason: 'Crash', message: 'Crash bites. https://example.com/Crash' });
  });

  test('are not known while monitoring does not answer, and nobody is asked twice in a minute', async () => {
    service.setGraph({ nodes, edges: [], conditionalEdges: [conditional('4.20.3', risk('Leak', 'leaks'))] });
    service.setFaults({ path: /^GET \/api/, status: 503 });
    await edit({ channel: 'stable-4.20' });
    await eventually(() => recommended('4.20.3')?.message.includes('answered 503'));
    expect(recommended('4.20.3')).toMatchObject({
      status: 'Unknown',
      reason: 'EvaluationFailed',
      message: expect.stringMatching(
        /^Could not evaluate exposure to update risk Leak \(executing PromQL query: Prometheus: GET \/api\/v1\/query answered 503.*\)\n {2}Leak description: Leak bites.\n {2}Leak URL: https:\/\/example.com\/Leak$/,
      ),
    });
    const asked = () => service.asked.filter(({ path }) => path === '/graph').length;
    const before = asked();
    await eventually(() => asked() > before + 2);
    expect(service.asked.filter(({ path }) => path === '/api/v1/query')).toHaveLength(1);
    expect(available()).toEqual([]);
  });
});

test('the same answer again is no change', async () => {
  service.setGraph({ nodes, edges: [[0, 1]] });
  await edit({ channel: 'stable-4.20' });
  await eventually(() => isJson(available(), ['4.20.2']));
  const [before, asked] = [changes, service.asked.length];
  await eventually(() => service.asked.length > asked + 3);
  expect(changes).toBe(before);
});
