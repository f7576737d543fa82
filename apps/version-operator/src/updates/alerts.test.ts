import { startUpdateService, type UpdateService } from '@flotilla/control-plane/servers';
import { systemClock } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ServiceWorld, serviceWorld } from '../../testing/update-service-case.ts';
import { askAlerts, KnownAlerts, openMonitoring } from './prometheus.ts';

let world: ServiceWorld<UpdateService>;
beforeEach(async () => {
  world = serviceWorld(await startUpdateService());
});
afterEach(() => world[Symbol.asyncDispose]());

async function ask(timeoutMs = 10_000) {
  await using monitoring = openMonitoring({ monitoringUrl: world.service.monitoringUrl }, { clock: systemClock, timeoutMs });
  return await askAlerts(monitoring, new AbortController().signal);
}
const alert = (alertname: string, state = 'firing') => ({
  state,
  labels: { alertname, severity: 'critical' },
  annotations: { summary: 'Short.' },
  activeAt: '2026-01-01T00:00:00Z',
});

test('alerts that fire are risks', async () => {
  world.service.setAlerts([alert('Broken'), alert('Soon', 'pending'), { state: 'firing', labels: { alertname: 'Fine' } }]);
  expect(await ask()).toMatchObject({ risks: [{ name: 'Broken', reason: 'Alert:firing' }] });
  expect(world.service.asked[0]).toMatchObject({ path: '/api/v1/alerts', query: {} });
});

test.each([
  { name: 'refuses', fault: { status: 403 }, want: /^Prometheus: GET \/api\/v1\/alerts answered 403: .*played by a test/ },
  { name: 'is slow', fault: { delayMs: 2_000 }, timeoutMs: 300, want: /no complete answer within 300 ms$/ },
  { name: 'sends a page', fault: { body: '<html>' }, want: /the answer \(200\) is not JSON/ },
  {
    name: 'says what is wrong',
    fault: { status: 503, body: '{"status":"error","errorType":"unavailable","error":"no store\\nis there"}' },
    want: /answered 503: unavailable: no store is there$/,
  },
])('monitoring that $name is told', async ({ fault, timeoutMs, want }) => {
  world.service.setFaults(fault);
  expect(await ask(timeoutMs)).toEqual({ error: expect.stringMatching(want) });
});

test('alerts that were told count for a day when monitoring gives no answer, and then not knowing them is a risk', () => {
  const DAY = 24 * 3_600_000;
  const known = new KnownAlerts();
  known.take({ error: 'no route' }, 0);
  expect(known.risks).toMatchObject([{ name: 'AlertUnknown', message: expect.stringContaining('no route') }]);
  const risks = [{ name: 'Broken', message: 'm' }];
  known.take({ risks }, 1);
  known.take({ error: 'no route' }, DAY);
  expect(known.risks).toEqual(risks);
  known.take({ error: 'no route' }, DAY + 1);
  expect(known.risks).toMatchObject([{ name: 'AlertUnknown' }]);
  known.take({ risks: [] }, DAY + 2);
  expect(known.risks).toEqual([]);
});
