import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startUpdateService, type UpdateService } from '@flotilla/control-plane/servers';
import { systemClock } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ServiceWorld, serviceWorld } from '../../testing/update-service-case.ts';
import { askPrometheus, type MonitoringSource, openMonitoring } from './prometheus.ts';

let world: ServiceWorld<UpdateService>;
beforeEach(async () => {
  world = serviceWorld(await startUpdateService());
});
afterEach(() => world[Symbol.asyncDispose]());

async function ask(query: string, timeoutMs = 20_000, files: Pick<MonitoringSource, 'monitoringTokenFile'> = {}) {
  await using monitoring = openMonitoring(
    { monitoringUrl: `${world.service.monitoringUrl}/`, ...files },
    { clock: systemClock, timeoutMs },
  );
  return await askPrometheus(query, monitoring, new AbortController().signal);
}

test('one sample of 1 is a match, one of 0 is none', async () => {
  world.service.setSamples({ 'up == 1': [1], down: [0] });
  expect(await ask('up == 1')).toEqual({ matches: true });
  expect(await ask('down')).toEqual({ matches: false });
  expect(world.service.asked[0]).toMatchObject({ path: '/api/v1/query', query: { query: 'up == 1' } });
});

test.each([
  { name: 'no sample', samples: [], want: 'invalid PromQL result length must be one, but is 0' },
  { name: 'two samples', samples: [1, 1], want: 'invalid PromQL result length must be one, but is 2' },
  { name: 'another number', samples: [0.5], want: 'invalid PromQL result (must be 0 or 1): 0.5' },
])('$name is no answer', async ({ samples, want }) => {
  world.service.setSamples({ q: samples });
  expect(await ask('q')).toEqual({ error: want });
});

test.each([
  { name: 'refuses', fault: { status: 403 }, want: /Prometheus: GET \/api\/v1\/query answered 403: .*played by a test/ },
  { name: 'refuses with a long page', fault: { status: 502, body: ' '.repeat(100_000) }, want: /answered 502$/ },
  { name: 'is slow', fault: { delayMs: 20_000 }, timeoutMs: 300, want: /no complete answer within 300 ms$/ },
  { name: 'hangs up', fault: { cut: true }, want: /^executing PromQL query: ./ },
  { name: 'sends a page', fault: { body: '<html>' }, want: /the answer \(200\) is not JSON/ },
  { name: 'answers with an error', fault: { body: '{"status":"error","error":"x"}' }, want: /the query failed: x$/ },
  {
    name: 'says what is wrong with the query',
    fault: { status: 400, body: '{"status":"error","errorType":"bad_data","error":"parse error:\\n unexpected \\")\\""}' },
    want: /^executing PromQL query: Prometheus: GET \/api\/v1\/query answered 400: bad_data: parse error: unexpected "\)"$/,
  },
  {
    name: 'answers with a scalar',
    fault: { body: '{"status":"success","data":{"resultType":"scalar","result":[]}}' },
    want: /not a query result: .*scalar/,
  },
  { name: 'sends more than is read', fault: { body: ' '.repeat(2 ** 21 + 1) }, want: /more than 2097152 bytes$/ },
])('monitoring that $name is told', async ({ fault, timeoutMs, want }) => {
  world.service.setFaults(fault);
  expect(await ask('q', timeoutMs)).toEqual({ error: expect.stringMatching(want) });
});

test('sends the token of the moment', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'token-'));
  const monitoringTokenFile = join(folder, 'token');
  const askWithToken = () => ask('q', undefined, { monitoringTokenFile });
  try {
    for (const token of ['first', 'second']) {
      await writeFile(monitoringTokenFile, `${token}\n`);
      await askWithToken();
    }
    expect(world.service.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
  } finally {
    await rm(folder, { recursive: true });
  }
  expect(await askWithToken()).toEqual({ error: expect.stringMatching(/ENOENT/) });
});
