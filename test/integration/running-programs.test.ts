import { join } from 'node:path';
import { Deployment, Namespace } from '@flotilla/api/core';
import { runCommand } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';

test('flotilla version lists the Deployments of our charts in a cluster', async () => {
  await using server = await startApiServer();
  const admin = await server.client();
  const version = (...args: string[]) =>
    runCommand(process.execPath, [join(import.meta.dirname, '../../apps/cli/src/main.ts'), 'version', ...args]);
  expect(await version('--kubeconfig', server.kubeconfig)).toMatch(
    /^flotilla .*\nNo Deployment of a Flotilla chart is in this cluster\.\n$/,
  );

  await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'flotilla' } });
  const image = `registry.example.com/f/hub@sha256:${'a'.repeat(64)}`;
  for (const { name, partOf } of [
    { name: 'hub', partOf: 'flotilla' },
    { name: 'shop', partOf: 'other' },
  ]) {
    const labels = { app: name, 'app.kubernetes.io/part-of': partOf, 'app.kubernetes.io/version': '1.2.3' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'flotilla', labels },
      spec: { replicas: 2, selector: { matchLabels: { app: name } }, template },
    };
    await admin.create(Deployment, deployment);
  }
  const [, heading, ...rows] = (await version('--kubeconfig', server.kubeconfig)).trim().split('\n');
  expect(heading?.split(/ {2,}/)).toEqual(['NAMESPACE', 'DEPLOYMENT', 'VERSION', 'READY', 'IMAGE']);
  expect(rows.map((row) => row.split(/ {2,}/))).toEqual([['flotilla', 'hub', '1.2.3', '0/2', image]]);
  await expect(version('--kubeconfig', '/nowhere')).rejects.toThrow('/nowhere');
});
