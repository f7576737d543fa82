import { KubeObject, type Resource, untyped } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { transportCrds } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig, ranCrds } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import { endCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReferenceResources, REFERENCE_CRDS, readReferenceCrd } from '../fixtures/reference-resources.ts';
import { createTemplate } from '../fixtures/work-templates.ts';
import { programFile } from '../support/program-files.ts';

const MAIN = programFile('apps/cli/src/main.ts');
const Deployment = untyped('apps/v1', 'Deployment', 'deployments');
const Upgrade = untyped(ClusterGroupUpgrade.apiVersion, ClusterGroupUpgrade.kind, ClusterGroupUpgrade.plural);
const UPGRADES = '/apis/ran.openshift.io/v1alpha1/namespaces/default/clustergroupupgrades';

let server: ApiServer;
let client: Client;

beforeAll(async () => {
  server = await startApiServer({ crds: [...transportCrds(), ...policyCrds()] });
  client = await server.client();
  await registerSpokes(client, ['spoke-1']);
  await createTemplate(client, 'release');
  for (const name of REFERENCE_CRDS) await client.create(CustomResourceDefinition, await readReferenceCrd(name));
});
afterAll(() => server?.stop());

const check = (...args: string[]) => endCommand(process.execPath, [MAIN, 'check', 'talm', '--kubeconfig', server.kubeconfig, ...args]);
const verdicts = async (): Promise<string[]> => {
  const { stdout } = await check('--json');
  return JSON.parse(stdout).objects.map(({ object, verdict }: { object: string; verdict: string }) => `${verdict} ${object}`);
};
const create = (kind: Resource, object: object) => client.create(kind, KubeObject.parse(object));

test('a hub of TALM: what has to be done first is said, and when it is done the answer is yes', async () => {
  expect(await check()).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to carry over') });

  const labels = { app: 'talm' };
  const pod = { metadata: { labels }, spec: { containers: [{ name: 'manager', image: 'registry.test/talm:1' }] } };
  await create(Deployment, {
    metadata: { name: 'cluster-group-upgrades-controller-manager-v2', namespace: 'default' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: pod },
  });
  const spec = { clusters: ['spoke-1'], manifestWorkTemplates: ['release'], remediationStrategy: { maxConcurrency: 1 } };
  for (const name of ['waits', 'runs']) await create(Upgrade, { metadata: { name, namespace: 'default' }, spec });
  const status = {
    conditions: [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    remediationPlan: [['spoke-1']],
    status: { startedAt: '2026-01-01T00:00:00Z', currentBatch: 1, currentBatchStartedAt: '2026-01-01T00:00:00Z' },
  };
  await client.request('PATCH', `${UPGRADES}/runs/status`, { body: { status }, contentType: 'application/merge-patch+json' });

  const before = await check();
  expect(before.code).toBe(3);
  expect(before.stdout).toMatch(/Deployment default\/cluster-group-upgrades-controller-manager-v2\s+stop first/);
  expect(before.stdout).toMatch(/ClusterGroupUpgrade default\/runs\s+carries over\s+it runs, and goes on in batch 1 of 1/);
  expect(await verdicts()).toEqual([
    'stopFirst Deployment default/cluster-group-upgrades-controller-manager-v2',
    'differs CustomResourceDefinition clustergroupupgrades.ran.openshift.io',
    'carriesOver ClusterGroupUpgrade default/runs',
    'carriesOver ClusterGroupUpgrade default/waits',
  ]);

  await client.patch(
    Deployment,
    { namespace: 'default', name: 'cluster-group-upgrades-controller-manager-v2' },
    { spec: { replicas: 0 } },
    { type: 'merge' },
  );
  for (const crd of ranCrds()) await client.apply(CustomResourceDefinition, KubeObject.parse(crd), { fieldManager: 'test', force: true });
  expect((await check()).code).toBe(0);
  expect((await verdicts()).filter((line) => !line.startsWith('carriesOver'))).toEqual([]);
});

test('every object of a hub has one verdict, and none is changed by asking', async () => {
  await using own = await startApiServer({ crds: [...transportCrds(), ...policyCrds()] });
  const there = await own.client();
  for (const name of REFERENCE_CRDS) await there.create(CustomResourceDefinition, await readReferenceCrd(name));
  for (const file of ['operator-upgrade', 'platform-upgrade', 'taken-over', 'works']) await createReferenceResources(there, file);
  const all = async (): Promise<KubeObject[]> => [
    ...(await there.list(ClusterGroupUpgrade)).items,
    ...(await there.list(PreCachingConfig)).items,
  ];
  const before = await all();
  const { stdout } = await check('--kubeconfig', own.kubeconfig, '--json');
  const rows: { object: string; verdict: string; why: string }[] = JSON.parse(stdout).objects;
  const named = (object: string) => new Set(rows.filter((row) => row.object === object).map(({ verdict }) => verdict)).size;
  const objects = before.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
  expect(objects.length).toBeGreaterThan(5);
  expect(objects.filter((object) => named(object) !== 1)).toEqual([]);
  expect(rows.filter(({ why }) => why === '')).toEqual([]);
  expect(await all()).toEqual(before);
});

test('a server that cannot be reached is an error, and no answer', async () => {
  const { code, stdout, stderr } = await check('--kubeconfig', '/nowhere/kubeconfig');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('/nowhere/kubeconfig');
});
