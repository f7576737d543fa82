import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CrdManifest, KubeObject } from '@flotilla/api';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { managedCrds, UpgradeConfig } from '@flotilla/api/managed';
import { clusterSetCrds, ManifestWork, Placement, transportCrds } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig, ranCrds } from '@flotilla/api/ran';
import { kstatus, policyCrds } from '@flotilla/api/testing';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { settled } from '@flotilla/pace/testing';
import { ApiError, type Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { hubCrds } from '../fixtures/crds.ts';
import { refusals, roundTrips } from '../fixtures/transport-objects.ts';

const examplesDir = join(import.meta.dirname, '../../examples');
// Values are for a chart, which has a schema of its own.
/** Files of other programs, whose kinds the server does not have; `gitops/health.test.ts` tries what is in the second. */
const FOREIGN = ['gitops/ansible-playbook.yaml', 'gitops/flux-kustomization.yaml'];
const examples = (await readdir(examplesDir, { recursive: true })).filter(
  (file) => /\.ya?ml$/.test(file) && !file.endsWith('values.yaml') && !FOREIGN.includes(file),
);
const UPGRADES = '/apis/ran.openshift.io/v1alpha1/namespaces/default/clustergroupupgrades';
const upgrade = (name: string, spec: Record<string, unknown>) => ({
  apiVersion: 'ran.openshift.io/v1alpha1',
  kind: 'ClusterGroupUpgrade',
  metadata: { name, namespace: 'default' },
  spec,
});

const Stored = z.looseObject({ metadata: z.looseObject({}) });

let created = 0;

describe('the CRDs on a real API server', () => {
  let server: ApiServer;
  let client: Client;
  const kubectl = async (...args: string[]) => {
    const tools = await ensureTools(['kubectl']);
    return runCommand(tools.path('kubectl'), ['--kubeconfig', server.kubeconfig, ...args]);
  };
  const post = (path: string, body: unknown) => client.request('POST', `${path}?fieldValidation=Strict`, { body });
  const patchStatus = (name: string, status: unknown) =>
    client.request('PATCH', `${UPGRADES}/${name}/status?fieldValidation=Strict`, {
      body: { status },
      contentType: 'application/merge-patch+json',
    });

  beforeAll(async () => {
    server = await startApiServer({ crds: [...hubCrds(), ...clusterSetCrds(), ...configCrds(), ...managedCrds()] });
    client = await server.client();
  });
  afterAll(() => server?.stop());

  test.each([...ranCrds(), ...transportCrds(), ...policyCrds(), ...configCrds(), ...managedCrds()].map((crd) => crd.metadata.name))(
    '%s is established and structural',
    async (name) => {
      const Conditions = z.looseObject({
        status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })) }),
      });
      await settled(
        async () => {
          const { conditions } = Conditions.parse(await client.get(CustomResourceDefinition, { name })).status;
          const states = Object.fromEntries(conditions.map((condition) => [condition.type, condition.status]));
          expect(states).toMatchObject({ NamesAccepted: 'True', Established: 'True' });
          expect(states).not.toHaveProperty('NonStructuralSchema');
        },
        { timeout: 15_000, interval: 50 },
      );
    },
  );

  it('fills in the defaults', async () => {
    const created = await post(
      UPGRADES,
      upgrade('defaults', { remediationStrategy: { maxConcurrency: 0 }, actions: { afterCompletion: {} } }),
    );
    expect(created).toMatchObject({
      spec: {
        enable: true,
        preCaching: false,
        backup: false,
        remediationStrategy: { maxConcurrency: 0, timeout: 240 },
        actions: { afterCompletion: { deleteObjects: true } },
      },
    });
  });

  it('says of an upgrade that no hub has looked at that its generation is not seen, until a status is written', async () => {
    const created = await post(UPGRADES, upgrade('unseen', { remediationStrategy: { maxConcurrency: 1 } }));
    expect(created).toMatchObject({ status: { observedGeneration: -1, status: {} } });
    expect(kstatus(created)).toBe('InProgress');
    expect(await client.get(ClusterGroupUpgrade, { namespace: 'default', name: 'unseen' })).toMatchObject({
      status: { observedGeneration: -1 },
    });
    // A hub that states no generation takes it away for good.
    await patchStatus('unseen', { observedGeneration: null, computedMaxConcurrency: 1 });
    const stored = await client.get(ClusterGroupUpgrade, { namespace: 'default', name: 'unseen' });
    expect(stored?.status).toEqual({ computedMaxConcurrency: 1, status: {} });
  });

  it('accepts an upgrade without a spec, and one with negative numbers', async () => {
    const { apiVersion, kind, metadata } = upgrade('bare', {});
    await post(UPGRADES, { apiVersion, kind, metadata });
    await post(UPGRADES, upgrade('negative', { remediationStrategy: { maxConcurrency: -1, timeout: 0 } }));
  });

  it('shows the last condition in the columns of kubectl get cgu', async () => {
    await post(UPGRADES, upgrade('columns', { remediationStrategy: { maxConcurrency: 1 } }));
    const condition = (type: string, reason: string, message: string) => ({
      type,
      reason,
      message,
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    await patchStatus('columns', {
      conditions: [condition('A', 'First', 'Not shown'), condition('B', 'InProgress', 'Precaching in progress')],
    });
    const [header = '', row = ''] = (await kubectl('get', 'cgu', 'columns')).split('\n');
    expect(header.split(/\s+/).filter(Boolean)).toEqual(['NAME', 'AGE', 'STATE', 'DETAILS']);
    expect(row).toMatch(/^columns\s+\S+\s+InProgress\s+Precaching in progress\s*$/);
  });

  it('keeps whatever a cluster was at, and gives status its times', async () => {
    await post(UPGRADES, upgrade('kept', { remediationStrategy: { maxConcurrency: 1 } }));
    const at = { deep: { list: [1, { x: null, y: 'z' }] } };
    const clusters = [
      { name: 'spoke', state: 'complete', currentPolicy: { name: 'p', status: at }, currentManifestWork: { name: 'w', status: at } },
    ];
    const patched = await patchStatus('kept', { clusters, precaching: { status: { spoke: 'Active' }, spec: {} } });
    expect(patched).toMatchObject({ status: { status: {}, precaching: { spec: {}, status: { spoke: 'Active' } } } });
    const Kept = z.looseObject({ status: z.looseObject({ clusters: z.array(z.unknown()) }) });
    const list = { list: [1, { y: 'z' }] };
    expect(Kept.parse(patched).status.clusters).toMatchObject([
      { name: 'spoke', state: 'complete', currentPolicy: { status: { deep: list } }, currentManifestWork: { status: { deep: list } } },
    ]);
  });

  test.each([
    {
      kind: UpgradeConfig,
      metadata: { name: 'unseen', namespace: 'default' },
      spec: { type: 'OSD', upgradeAt: '2027-01-31T22:00:00Z', PDBForceDrainTimeout: 60, desired: { version: '4.19.4' } },
    },
    { kind: ClusterVersion, metadata: { name: 'version' }, spec: { clusterID: '00000000-0000-4000-8000-000000000001' } },
  ])('says of a $kind.kind that no operator has looked at that its generation is not seen', async ({ kind, metadata, spec }) => {
    const { apiVersion, kind: name, plural } = kind;
    const path = `/apis/${apiVersion}${'namespace' in metadata ? `/namespaces/${metadata.namespace}` : ''}/${plural}`;
    const unseen = await post(path, { apiVersion, kind: name, metadata, spec });
    expect(unseen).toMatchObject({ status: { observedGeneration: -1 } });
    expect(kstatus(unseen)).toBe('InProgress');
    expect(await client.get<KubeObject>(kind, metadata)).toMatchObject({ status: { observedGeneration: -1 } });
  });

  test.each([
    { name: 'a string for a boolean', spec: { preCaching: 'yes', remediationStrategy: { maxConcurrency: 1 } }, field: 'spec.preCaching' },
    { name: 'a missing number', spec: { remediationStrategy: {} }, field: 'spec.remediationStrategy.maxConcurrency' },
    { name: 'a fraction', spec: { remediationStrategy: { maxConcurrency: 1.5 } }, field: 'spec.remediationStrategy.maxConcurrency' },
    { name: 'a missing object', spec: { clusters: ['a'] }, field: 'spec.remediationStrategy' },
    { name: 'a string for a list', spec: { clusters: 'a', remediationStrategy: { maxConcurrency: 1 } }, field: 'spec.clusters' },
    { name: 'a field that does not exist', spec: { preCache: true, remediationStrategy: { maxConcurrency: 1 } }, field: 'spec.preCache' },
  ])('refuses $name and names the field', async ({ spec, field }) => {
    const refused = post(UPGRADES, upgrade('refused', spec));
    await expect(refused).rejects.toBeInstanceOf(ApiError);
    await expect(refused).rejects.toThrow(field);
  });

  const CONFIGS = '/apis/ran.openshift.io/v1alpha1/namespaces/default/precachingconfigs';
  const config = (name: string, spec: Record<string, unknown>) => ({
    apiVersion: PreCachingConfig.apiVersion,
    kind: PreCachingConfig.kind,
    metadata: { name, namespace: 'default' },
    spec,
  });
  const strings = (length: number, make = (index: number) => `edge-site-${index}`) => Array.from({ length }, (_, index) => make(index));

  it('accepts what the largest fleets ask for', async () => {
    const spec = { remediationStrategy: { maxConcurrency: 100 }, clusters: strings(20_000), managedPolicies: strings(500) };
    expect(await post(UPGRADES, upgrade('large', spec))).toMatchObject({ metadata: { name: 'large' } });
    const lists = {
      excludePrecachePatterns: strings(1_000),
      additionalImages: strings(1_000, (index) => `r.example/${'x'.repeat(250)}:${index}`),
    };
    expect(await post(CONFIGS, config('large', lists))).toMatchObject({ metadata: { name: 'large' } });
  });

  const remediationStrategy = { maxConcurrency: 1 };
  test.each([
    {
      name: '40,000 selectors',
      path: UPGRADES,
      body: upgrade('x', { remediationStrategy, clusterSelector: strings(40_000) }),
      field: 'spec.clusterSelector',
    },
    {
      name: 'a selector of 40,000 values',
      path: UPGRADES,
      body: upgrade('x', {
        remediationStrategy,
        clusterLabelSelectors: [{ matchExpressions: [{ key: 'a', operator: 'In', values: strings(40_000) }] }],
      }),
      field: 'spec.clusterLabelSelectors[0].matchExpressions[0].values',
    },
    {
      name: 'a size of 64,000 digits',
      path: CONFIGS,
      body: config('x', { spaceRequired: '9'.repeat(64_000) }),
      field: 'spec.spaceRequired',
    },
    {
      name: 'an image of 2,000 characters',
      path: CONFIGS,
      body: config('x', { additionalImages: ['x'.repeat(2_000)] }),
      field: 'spec.additionalImages[0]',
    },
  ])('refuses $name and names the field', async ({ path, body, field }) => {
    const refused = post(path, body);
    await expect(refused).rejects.toMatchObject({ status: 422 });
    await expect(refused).rejects.toThrow(field);
    await expect(refused).rejects.toThrow(/at most \d+|no more than \d+|may not be more than \d+|Too (long|many)/);
  });

  it('lets the status be written of an upgrade that was stored before there were limits', async () => {
    const [crd] = ranCrds();
    if (!crd) throw new Error('no CRD');
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`;
    const isLimit = (key: string) => /^max(Items|Length|Properties)$/.test(key);
    const unlimited: CrdManifest = JSON.parse(JSON.stringify(crd, (key, value: unknown) => (isLimit(key) ? undefined : value)));
    const serve = async ({ spec }: CrdManifest) =>
      client.request('PUT', path, { body: { ...Stored.parse(await client.request('GET', path)), spec } });
    const spec = { remediationStrategy, clusterSelector: strings(40_000, String) };
    await serve(unlimited);
    // A CRD takes a moment to be served.
    await settled(() => post(UPGRADES, upgrade('older', spec)), { timeout: 15_000, interval: 100 });
    await serve(crd);
    await settled(() => expect(post(UPGRADES, upgrade('newer', spec))).rejects.toThrow('spec.clusterSelector'), {
      timeout: 15_000,
      interval: 100,
    });
    const Read = ClusterGroupUpgrade.schema;
    expect(Read.parse(await client.request('GET', `${UPGRADES}/older`)).spec?.clusterSelector).toHaveLength(40_000);
    expect(await patchStatus('older', { computedMaxConcurrency: 1 })).toMatchObject({ status: { computedMaxConcurrency: 1 } });
  });

  it('stores a PreCachingConfig and gives it no status', async () => {
    await post(CONFIGS, config('c', { overrides: { platformImage: 'registry.example/release@sha256:1' }, spaceRequired: '10 GiB' }));
    const patch = client.request('PATCH', `${CONFIGS}/c/status`, { body: {}, contentType: 'application/merge-patch+json' });
    await expect(patch).rejects.toMatchObject({ status: 404 });
    // It is input alone, as a ConfigMap is: nothing is to be waited for, and whether it is right is said by the upgrade that names it.
    expect(kstatus(await client.request('GET', `${CONFIGS}/c`))).toBe('Current');
  });

  it('wants a kind in the template of an action, and keeps the rest of it', async () => {
    const path = '/apis/action.open-cluster-management.io/v1beta1/namespaces/default/managedclusteractions';
    const action = (name: string, template: unknown) => ({
      apiVersion: 'action.open-cluster-management.io/v1beta1',
      kind: 'ManagedClusterAction',
      metadata: { name },
      spec: { actionType: 'Create', kube: { resource: 'configmaps', template } },
    });
    const template = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { key: 'value' } };
    expect(await post(path, action('whole', template))).toMatchObject({ spec: { kube: { template } } });
    await expect(post(path, action('bare', { data: {} }))).rejects.toThrow('spec.kube.template.apiVersion');
  });

  test.each(roundTrips)('$resource.kind keeps $name', async ({ resource, fields, status }) => {
    const { apiVersion, kind, plural } = resource;
    const path = `/apis/${apiVersion}/namespaces/default/${plural}`;
    const name = `round-trip-${++created}`;
    await post(path, { apiVersion, kind, metadata: { name }, ...fields });
    if (status)
      await client.request('PATCH', `${path}/${name}/status?fieldValidation=Strict`, {
        body: { status },
        contentType: 'application/merge-patch+json',
      });
    // Through the schema the programs read with, so that it is known to keep what the server keeps.
    const read = await client.get<KubeObject>(resource, { namespace: 'default', name });
    expect(read).toMatchObject({ ...fields, ...(status && { status }) });
  });

  test.each(refusals)('refuses a $resource.kind $name', async ({ resource, fields, field }) => {
    const { apiVersion, kind, plural } = resource;
    const refused = post(`/apis/${apiVersion}/namespaces/default/${plural}`, {
      apiVersion,
      kind,
      metadata: { name: 'refused' },
      ...fields,
    });
    await expect(refused).rejects.toBeInstanceOf(ApiError);
    await expect(refused).rejects.toThrow(field);
  });

  it('fills in what the kinds of the transport default', async () => {
    const works = '/apis/work.open-cluster-management.io/v1/namespaces/default/manifestworks';
    const work = { apiVersion: ManifestWork.apiVersion, kind: ManifestWork.kind, metadata: { name: 'defaults' } };
    expect(await post(works, { ...work, spec: { deleteOption: {} } })).toMatchObject({
      spec: { deleteOption: { propagationPolicy: 'Foreground' } },
    });
    const placements = '/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements';
    const placement = { apiVersion: Placement.apiVersion, kind: Placement.kind, metadata: { name: 'defaults' } };
    expect(await post(placements, { ...placement, spec: { tolerations: [{ key: 'x' }] } })).toMatchObject({
      spec: { tolerations: [{ key: 'x', operator: 'Equal' }] },
    });
  });

  test.runIf(examples.length > 0).each(examples)('examples/%s passes a strict dry run', async (file) => {
    const documents = parseAllDocuments(await readFile(join(examplesDir, file), 'utf8'));
    expect(documents.length).toBeGreaterThan(0);
    for (const namespace of new Set(documents.map((document) => document.getIn(['metadata', 'namespace'])))) {
      if (typeof namespace !== 'string' || namespace === 'default') continue;
      // A dry run still wants the namespace to be there; two examples may share it.
      await kubectl('create', 'namespace', namespace).catch((error: unknown) => expect(String(error)).toContain('AlreadyExists'));
    }
    await kubectl('apply', '--dry-run=server', '--validate=strict', '-f', join(examplesDir, file));
  });
});
