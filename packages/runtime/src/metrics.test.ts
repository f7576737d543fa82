import { ConfigMap } from '@flotilla/api/core';
import { expect, test } from 'vitest';
import { refuse, startScriptedServer, watchOf } from '../testing/scripted-server.ts';
import { createClient, resourceOf } from './create-client.ts';
import { createMetrics } from './metrics.ts';

test.each([
  ['/api/v1/namespaces/n/configmaps/a?x=y', 'configmaps'],
  ['/api/v1/namespaces/n', 'namespaces'],
  ['/api/v1/nodes', 'nodes'],
  ['/apis/batch/v1/namespaces/n/jobs/j/status', 'jobs'],
  ['/apis/a.b/v1/things', 'things'],
  ['/metrics', 'other'],
])('%s counts as %s', (path, resource) => expect(resourceOf(path)).toBe(resource));

test('requests are counted by verb, resource and answer, and no name or token becomes a label', async () => {
  await using server = await startScriptedServer();
  const metrics = createMetrics({ process: false });
  const client = createClient({ kubeconfig: server.kubeconfig, metrics });
  server.steps.push(refuse(404, 'NotFound'), watchOf([]));
  await client.get(ConfigMap, { namespace: 'n', name: 'secret-name' });
  for await (const event of client.watch(ConfigMap, { resourceVersion: '1' })) expect(event).toBeUndefined();
  const text = await metrics.registry.metrics();
  expect(text).toContain('flotilla_api_requests_total{verb="GET",resource="configmaps",code="404"} 1');
  expect(text).toContain('flotilla_api_requests_total{verb="WATCH",resource="configmaps",code="200"} 1');
  expect(text).not.toMatch(/secret-name|sesame/);
  await client.close();
});
