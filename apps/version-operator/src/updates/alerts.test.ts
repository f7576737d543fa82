import { startUpdateService, type UpdateService } from '@flotilla/control-plane/servers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { askAlerts } from './alerts.ts';
import { type ServiceWorld, serviceWorld } from './update-service-case.ts';

let world: ServiceWorld<UpdateService>;
beforeEach(async () => {
  world = serviceWorld(await startUpdateService());
});
afterEach(() => world[Symbol.asyncDispose]());

const ask = (timeoutMs = 10_000) =>
  askAlerts({ url: world.service.monitoringUrl, connections: world.connections, timeoutMs }, new AbortController().signal);
const alert = (alertname: string, state = 'firing') => ({
  state,
  labels: { alertname, severity: 'critical' },
  annotations: { summary: 'Short.' },
  activeAt: '2026-01-01T00:00:00Z',
});

test('alerts that fire are risks', async () => {
  world.service.setAlerts([alert('Broken'), alert('Soon', 'pending'), { state: 'firing', labels: { alertname: 'Fine' } }]);
  expect(await ask()).toMatchObject([{ name: 'Broken', reason: 'Alert:firing' }]);
  expect(world.service.asked[0]).toMatchObject({ path: '/api/v1/alerts', query: {} });
});

test.each([
  { name: 'refuses', fault: { status: 403 }, want: /monitoring answered 403$/ },
  { name: 'is slow', fault: { delayMs: 2_000 }, timeoutMs: 300, want: /no complete answer within 300 ms$/ },
  { name: 'sends a page', fault: { body: '<html>' }, want: /the answer is none of Prometheus$/ },
])('monitoring that $name is a risk of its own', async ({ fault, timeoutMs, want }) => {
  world.service.setFaults(fault);
  expect(await ask(timeoutMs)).toMatchObject([{ name: 'AlertUnknown', message: expect.stringMatching(want) }]);
});
