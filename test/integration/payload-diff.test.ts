import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untyped } from '@flotilla/api';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { ConfigMap, Deployment, HorizontalPodAutoscaler, Namespace, Secret } from '@flotilla/api/core';
import { buildOpenDefinition } from '@flotilla/api/testing';
import { endCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, applyCrds, startApiServer } from '@flotilla/control-plane/servers';
import { buildReleased, buildReleaseHead, INCLUDED, writeRelease } from '@flotilla/release/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AUDIT_IN_ONE_FILE, readAuditLog } from '../fixtures/audit-log.ts';
import { programFile } from '../support/program-files.ts';

const Gate = untyped('config.openshift.io/v1', 'FeatureGate', 'featuregates', false);

let server: ApiServer;
let client: Client;
let root = '';

/** A crew of one container. */
const deployment = (name: string, image: string, annotations: Record<string, string> = INCLUDED, replicas = 1) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'fleet', annotations },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'crew', image, command: ['row'] }] } },
  },
});
const inFleet = (kind: string, name: string, rest: object = {}, annotations: Record<string, string> = INCLUDED) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'fleet', annotations },
  ...rest,
});
const boats = buildOpenDefinition({ group: 'example.com', kind: 'Boat', plural: 'boats' });
const boatCrd = { ...boats, metadata: { ...boats.metadata, annotations: INCLUDED } };
const files: Readonly<Record<string, object>> = {
  ...buildReleaseHead('4.20.2'),
  'manifests/0000_00_cluster-version-operator_00.json': buildReleased('v1', 'Namespace', 'fleet'),
  'manifests/0000_00_cluster-version-operator_01.json': buildReleased('v1', 'Namespace', 'new-fleet'),
  'release-manifests/0000_10_boats_00_crd.json': boatCrd,
  'release-manifests/0000_20_boats_00_boat.json': buildReleased('example.com/v1', 'Boat', 'first', { namespace: 'fleet' }),
  'release-manifests/0000_30_crew_00_same.json': inFleet('ConfigMap', 'same', { data: { a: '1' } }),
  'release-manifests/0000_30_crew_01_secret.json': inFleet('Secret', 'secret', { stringData: { password: 'new-password' } }),
  'release-manifests/0000_30_crew_02_deployment.json': deployment('crew', 'host/crew:2'),
  'release-manifests/0000_30_crew_03_once.json': inFleet(
    'ConfigMap',
    'once',
    { data: { a: 'new' } },
    { ...INCLUDED, 'release.openshift.io/create-only': 'true' },
  ),
  'release-manifests/0000_30_crew_04_old.json': inFleet('ConfigMap', 'old', {}, { ...INCLUDED, 'release.openshift.io/delete': 'true' }),
  'release-manifests/0000_30_crew_05_gone.json': inFleet('ConfigMap', 'gone', {}, { ...INCLUDED, 'release.openshift.io/delete': 'true' }),
  'release-manifests/0000_30_crew_06_new.json': buildReleased('v1', 'ConfigMap', 'new', { namespace: 'new-fleet' }),
  'release-manifests/0000_30_crew_07_wrong.json': deployment('wrong', ''),
  'release-manifests/0000_30_crew_08_nobody.json': buildReleased('nobody.example/v1', 'Ghost', 'x'),
  'release-manifests/0000_30_crew_09_unmanaged.json': inFleet('ConfigMap', 'unmanaged', { data: { a: 'new' } }),
  'release-manifests/0000_30_crew_10_preview.json': inFleet(
    'ConfigMap',
    'preview',
    {},
    { ...INCLUDED, 'release.openshift.io/feature-set': 'TechPreviewNoUpgrade' },
  ),
};

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-diff-'));
  await writeRelease(join(root, 'payload'), files);
  server = await startApiServer({ auditLogPath: join(root, 'audit.log'), flags: [AUDIT_IN_ONE_FILE] });
  client = await server.client();
  const gateCrd = buildOpenDefinition({ group: 'config.openshift.io', kind: 'FeatureGate', plural: 'featuregates', scope: 'Cluster' });
  await applyCrds(client, [...configCrds(), gateCrd]);
  await client.create(Gate, { metadata: { name: 'cluster' }, spec: { featureSet: 'TechPreviewNoUpgrade' } });
  const overrides = [{ group: '', kind: 'ConfigMap', namespace: 'fleet', name: 'unmanaged', unmanaged: true }];
  const version = await client.create(ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID: crypto.randomUUID(), overrides },
  });
  const owner = {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    name: 'version',
    uid: version.metadata.uid,
    controller: true,
  };
  const owned = <T extends { metadata: object }>(object: T) => ({
    ...object,
    metadata: { name: '', ...object.metadata, ownerReferences: [owner] },
  });
  await client.create(Namespace, owned({ metadata: { name: 'fleet', annotations: INCLUDED } }));
  await client.create(ConfigMap, owned(inFleet('ConfigMap', 'same', { data: { a: '1', more: 'of others' } })));
  await client.create(Secret, owned(inFleet('Secret', 'secret', { stringData: { password: 'old-password' } })));
  // as many as its autoscaler has set, which the release does not decide
  await client.create(Deployment, owned(deployment('crew', 'host/crew:1', INCLUDED, 4)));
  await client.create(HorizontalPodAutoscaler, {
    metadata: { name: 'crew', namespace: 'fleet' },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'crew' }, maxReplicas: 9 },
  });
  for (const name of ['once', 'old', 'unmanaged'])
    await client.create(ConfigMap, owned(inFleet('ConfigMap', name, { data: { a: 'old' } })));
});
afterAll(async () => {
  await server?.stop();
  if (root) await rm(root, { recursive: true, force: true });
});

const flotilla = (...args: string[]) => {
  const all = [programFile('apps/cli/src/main.ts'), 'payload', 'diff', 'payload', '--kubeconfig', server.kubeconfig, ...args];
  return endCommand(process.execPath, all, { cwd: root, env: { INIT_CWD: root } });
};
/** Version of everything that is stored. */
const stored = async () => {
  const lists = await Promise.all([Namespace, ConfigMap, Secret, Deployment, ClusterVersion].map((kind) => client.list(kind)));
  return lists.flatMap(({ items }) =>
    items.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`),
  );
};

test('says what an update would do, in its order, and changes nothing', async () => {
  const before = await stored();
  const { code, stdout, stderr } = await flotilla('--json');
  expect(await stored()).toEqual(before);
  expect(stderr).toContain('4.20.2: 7 to create, 2 to change, 1 to delete, 4 as they are, 2 refused');
  expect(code).toBe(3);
  const { nodes, version } = JSON.parse(stdout);
  expect(version).toBe('4.20.2');
  const objects = nodes.flatMap(({ objects }: { objects: object[] }) => objects);
  const brief = (of: { kind: string; name: string; action: string; note?: string; refused?: string }) =>
    [of.action, of.kind, of.name, of.note, of.refused && 'refused'].filter(Boolean).join(' ');
  expect(objects.map(brief)).toEqual([
    'leave Namespace fleet',
    'create Namespace new-fleet',
    'create CustomResourceDefinition boats.example.com',
    'create Boat first its kind comes with this release; not asked',
    'leave ConfigMap same',
    'change Secret secret',
    'change Deployment crew',
    'leave ConfigMap once is there, and only created',
    'delete ConfigMap old',
    'leave ConfigMap gone is not there, as is wanted',
    'create ConfigMap new namespace new-fleet comes with this release; not asked',
    'create Deployment wrong refused',
    'create Ghost x refused',
    'create ConfigMap preview',
  ]);
  const changesOf = (name: string) => objects.find((one: { name: string }) => one.name === name).changes;
  expect(changesOf('crew')).toEqual([{ path: 'spec.template.spec.containers[crew].image', from: 'host/crew:1', to: 'host/crew:2' }]);
  expect(changesOf('secret')).toEqual([{ path: 'data.password', from: '(hidden)', to: '(hidden)' }]);
  expect(objects.find((one: { name: string }) => one.name === 'wrong').refused).toContain(
    'spec.template.spec.containers[0].image: Required value',
  );
  expect(objects.find((one: { name: string }) => one.name === 'x').refused).toContain(
    'the server does not know Ghost of nobody.example, version v1',
  );
});

test('for people: what changes, in its order, without what is secret', async () => {
  const { stdout } = await flotilla();
  expect(stdout).toContain(
    '  change Deployment fleet/crew (0000_30_crew_02_deployment.json)\n         ~ spec.template.spec.containers[crew].image: "host/crew:1" → "host/crew:2"\n',
  );
  expect(stdout).toContain('  delete ConfigMap fleet/old (0000_30_crew_04_old.json)\n');
  expect(stdout).toMatch(/create Deployment fleet\/wrong \(.*\): REFUSED: .*image: Required value/);
  expect(stdout).not.toMatch(/leave|password"|bmV3/);
  expect((await flotilla('--all')).stdout).toContain('  leave  ConfigMap fleet/same (0000_30_crew_00_same.json)\n');
});

test('every write that it asks for is a dry run', async () => {
  const asked: string[] = [];
  for await (const { userAgent, verb, requestURI } of readAuditLog(join(root, 'audit.log')))
    if (userAgent.startsWith('flotilla-cli') && !['get', 'list', 'watch'].includes(verb)) asked.push(requestURI);
  expect(asked.length).toBeGreaterThan(3);
  expect(asked.filter((uri) => !uri.includes('dryRun=All'))).toEqual([]);
});
