/** The blocks of docs/from-talm.md, run as they stand on a hub with what TALM's installation leaves there. */
import { readFile } from 'node:fs/promises';
import { untyped } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { transportCrds } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { REFERENCE_CRDS, readReferenceCrd } from '../fixtures/reference-resources.ts';
import { flotilla } from '../integration/cli/flotilla.ts';
import { Site } from './site.ts';

const PAGE = await readFile(new URL('../../docs/from-talm.md', import.meta.url), 'utf8');
const OLM = 'operators.coreos.com/v1alpha1';
const Subscription = untyped(OLM, 'Subscription', 'subscriptions');
const ClusterServiceVersion = untyped(OLM, 'ClusterServiceVersion', 'clusterserviceversions');
const Deployment = untyped('apps/v1', 'Deployment', 'deployments');
const Definition = untyped('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', false);
const PACKAGE = 'topology-aware-lifecycle-manager';

/** As much of a definition of OLM as kubectl needs. */
const olmCrd = (kind: string, plural: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.operators.coreos.com` },
  spec: {
    group: 'operators.coreos.com',
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase() },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});

/** Installs TALM as OLM does: a Deployment that belongs to a ClusterServiceVersion, and another operator beside it. */
async function installTalm({ admin }: Site, namespace: string): Promise<void> {
  if (!(await admin.get(Namespace, { name: namespace }))) await admin.create(Namespace, { metadata: { name: namespace } });
  for (const [name, deployment] of [
    [PACKAGE, 'cluster-group-upgrades-controller-manager-v2'],
    ['another-operator', 'another-operator'],
  ] as const) {
    const metadata = { namespace, name: `${name}.v4.18.0` };
    const { metadata: owner } = await admin.create(ClusterServiceVersion, { metadata });
    const subscription = { namespace, name: `openshift-${name}-subscription` };
    await admin.create(Subscription, { metadata: subscription, spec: { name, channel: 'stable' } });
    await admin.patch(Subscription, subscription, { status: { installedCSV: metadata.name } }, { type: 'merge', subresource: 'status' });
    const reference = { apiVersion: OLM, kind: 'ClusterServiceVersion', name: metadata.name, uid: owner.uid };
    const labels = { app: deployment };
    await admin.create(Deployment, {
      metadata: { namespace, name: deployment, ownerReferences: [reference] },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'manager', image: 'registry.example.com/manager:1' }] } },
      },
    });
  }
}

test.each(['openshift-operators', 'openshift-cluster-group-upgrades'])(
  'a hub of TALM in namespace %s is taken over by the page, block by block',
  async (namespace) => {
    const crds = [
      ...(await Promise.all(REFERENCE_CRDS.map(readReferenceCrd))),
      olmCrd('Subscription', 'subscriptions'),
      olmCrd('ClusterServiceVersion', 'clusterserviceversions'),
    ];
    await using site = await Site.start([...crds, ...transportCrds(), ...policyCrds()]);
    const { admin, server } = site;
    await installTalm(site, namespace);
    await admin.create(ClusterGroupUpgrade, {
      metadata: { name: 'kept', namespace: 'default' },
      spec: { clusters: ['spoke-1'], enable: false, managedPolicies: ['p'], remediationStrategy: { maxConcurrency: 1, timeout: 60 } },
    });
    const kept = async () => (await admin.get(ClusterGroupUpgrade, { namespace: 'default', name: 'kept' }))?.metadata.uid;
    const uid = await kept();
    expect((await flotilla(server.kubeconfig, 'check', 'talm')).out).toMatch(
      new RegExp(`stop first.*\n[\\s\\S]*delete clusterserviceversions.operators.coreos.com ${PACKAGE}.v4.18.0`),
    );

    // TALM still acts here.
    await expect(site.follow(PAGE, 'Check')).rejects.toThrow('ended with 3');

    await site.follow(PAGE, 'Stop TALM');
    const deployments = async () => (await admin.list(Deployment)).items.map(({ metadata }) => metadata.name);
    await eventually(async () => (await deployments()).length === 1, 'the Deployment of TALM to be collected');
    expect(await deployments()).toEqual(['another-operator']);
    expect((await flotilla(server.kubeconfig, 'check', 'talm')).out).not.toContain('stop first');

    Object.assign(site.variables, { DIR: await site.package('hub', '1.2.3'), VERSION: '1.2.3', REGISTRY: 'registry.example.com/flotilla' });
    await site.follow(PAGE, 'Start Flotilla');
    expect(await kept()).toBe(uid);
    const definition = await admin.get(Definition, { name: 'clustergroupupgrades.ran.openshift.io' });
    expect(definition?.metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'Helm' });
    expect((await flotilla(server.kubeconfig, 'check', 'talm')).out).not.toContain('it drops what only Flotilla writes');
  },
);

test('a Deployment of TALM that no OLM installed is scaled to 0 by the page', async () => {
  await using site = await Site.start([]);
  const metadata = { namespace: 'openshift-cluster-group-upgrades', name: 'cluster-group-upgrades-controller-manager-v2' };
  await site.admin.create(Namespace, { metadata: { name: metadata.namespace } });
  const template = {
    metadata: { labels: { app: 'talm' } },
    spec: { containers: [{ name: 'manager', image: 'registry.example.com/manager:1' }] },
  };
  await site.admin.create(Deployment, { metadata, spec: { replicas: 1, selector: { matchLabels: { app: 'talm' } }, template } });
  await site.follow(PAGE, 'Without OLM');
  expect(await site.admin.get(Deployment, metadata)).toMatchObject({ spec: { replicas: 0 } });
});
