import { OPERATOR_NAMESPACE } from '@flotilla/api/managed';
import { startHostileService } from '@flotilla/http/testing';
import { type Client, createLogger, createMetrics, systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createCaches } from './caches.ts';
import { readConfig } from './config.ts';
import type { Ports } from './ports.ts';
import { createPorts } from './wiring.ts';

/** No API server is asked here. */
const client = new Proxy<Partial<Client>>({}, { get: () => () => Promise.reject(new Error('not asked here')) }) as Client;

test.each([
  { name: 'Prometheus', ask: ({ alerts }: Ports, signal: AbortSignal) => alerts.paging(Date.now() - 1_000, Date.now(), signal) },
  { name: 'Alertmanager', ask: ({ silences }: Ports, signal: AbortSignal) => silences.endWorkers(signal) },
])('a pass that needs $name asks it once, for the pass itself comes again', async ({ ask }) => {
  await using service = await startHostileService(503);
  const stopping = new AbortController();
  const flags = ['--prometheus-url', service.url.href, '--alertmanager-url', service.url.href];
  const logger = createLogger({ name: 'test', level: 'silent' });
  const deps = { client, settings: readConfig(flags, {}), logger, metrics: createMetrics({ process: false }), clock: systemClock };
  const ports = createPorts()(deps, createCaches(client, OPERATOR_NAMESPACE, deps), stopping.signal);
  try {
    await expect(ask(ports, stopping.signal)).rejects.toThrow('503');
    expect(service.requests).toHaveLength(1);
  } finally {
    stopping.abort();
  }
});

test('a process may lead again, and tells nothing of the upgrade while it does not', async () => {
  const logger = createLogger({ name: 'test', level: 'silent' });
  const metrics = createMetrics({ process: false });
  const deps = { client, settings: readConfig([], {}), logger, metrics, clock: systemClock };
  const told = async () => (await metrics.registry.metrics()).includes('upgradeoperator_');
  for (let time = 0; time < 2; time += 1) {
    const leading = new AbortController();
    createPorts()(deps, createCaches(client, OPERATOR_NAMESPACE, deps), leading.signal);
    expect(await told()).toBe(true);
    leading.abort();
    expect(await told()).toBe(false);
  }
});
