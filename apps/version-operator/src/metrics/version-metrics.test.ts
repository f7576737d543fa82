import { ConfigMap } from '@flotilla/api/core';
import { ManualClock } from '@flotilla/pace/testing';
import { createMetrics } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { serveVersionMetrics } from './version-metrics.ts';

const installed = ConfigMap.schema.parse({
  metadata: { namespace: 'openshift-config', name: 'openshift-install' },
  data: { version: 'v4', invoker: 'user' },
});

test('who installed the cluster is asked for again at the next scrape when the server did not answer', async () => {
  const answers = [() => Promise.reject(new Error('overloaded')), () => Promise.resolve(installed)];
  let asked = 0;
  const metrics = createMetrics();
  const nothing = { get: () => undefined, list: () => [], subscribe: () => () => undefined } as never;
  using _served = serveVersionMetrics({
    metrics,
    client: { get: (async () => answers[asked++]?.()) as never },
    versions: nothing,
    operators: nothing,
    work: () => ({}),
    updatesFreshAtMs: () => undefined,
    clock: new ManualClock(),
  });
  const scrape = async (): Promise<string> => {
    return /^cluster_installer\{.*$/m.exec(await metrics.registry.metrics())?.[0] ?? '';
  };
  await scrape();
  await scrape();
  expect(await scrape()).toBe('cluster_installer{type="openshift-install",version="v4",invoker="user"} 1');
  expect(asked).toBe(2);
});
