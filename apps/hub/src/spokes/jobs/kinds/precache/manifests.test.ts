import { readFile } from 'node:fs/promises';
import type { ManagedCluster } from '@flotilla/api/ocm';
import { DEFAULT_NODE_RULES } from '@flotilla/api/ran';
import { spokeNode } from '@flotilla/rollout';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { clusterObject, UPGRADE } from '../../../../../testing/observation-builders.ts';
import { createAction, createView, deleteAction } from '../../../transports/actions/hub-objects.ts';
import type { WorkloadInputs } from './inputs.ts';
import { precacheNames } from './job.ts';
import { precacheManifests } from './manifests.ts';

const inputs: WorkloadInputs = {
  upgradeUid: UPGRADE.uid,
  spec: { platformImage: 'registry.example/release@sha256:1', additionalImages: ['a', 'b'], spaceRequired: '35' },
  image: 'registry.example/puller:1',
  deadlineSeconds: 14_400,
  profile: 'talm',
  node: spokeNode(undefined),
  variables: { REGISTRY_CONFIG: '', RETRY_FOR_SECONDS: '' },
  caBundle: '',
};
const place = { job: { work: 'precache', names: precacheNames }, upgrade: UPGRADE, cluster: 'spoke' };
const management = { 'target.workload.openshift.io/management': '{"effect":"PreferredDuringScheduling"}' };
const manifests = (change: Partial<WorkloadInputs> = {}) => precacheManifests({ ...inputs, ...change });
const template = (action: string, change: Partial<WorkloadInputs> = {}) =>
  manifests(change).find((each) => each.action === action)?.template;

const NODES = { ...DEFAULT_NODE_RULES, selector: { zone: 'a' } };

const readOnly = [
  ['host-etc-containers', '/etc/containers'],
  ['host-etc-pki-ca-trust', '/etc/pki/ca-trust'],
  ['host-etc-resolv-conf', '/etc/resolv.conf'],
  ['host-lib64', '/lib64'],
  ['host-proc', '/proc'],
  ['host-usr-bin', '/usr/bin'],
  ['host-usr-lib', '/usr/lib'],
  ['host-usr-lib64', '/usr/lib64'],
  ['host-usr-libexec', '/usr/libexec'],
  ['host-usr-share-containers', '/usr/share/containers'],
  ['host-var-lib-cni', '/var/lib/cni'],
  ['host-var-lib-kubelet', '/var/lib/kubelet'],
  ['sys-fs-cgroup', '/sys/fs/cgroup'],
] as const;
const writable = [
  ['host-run', '/run'],
  ['host-tmp', '/tmp'],
  ['host-var-lib-containers', '/var/lib/containers'],
  ['host-var-tmp', '/var/tmp'],
] as const;

describe('profile talm (spec/talm 3.5, 3.6)', () => {
  test('the objects, in the order of the reference', () => {
    expect(manifests().map(({ action, template: { kind } }) => [action, kind])).toEqual([
      ['precache-ns-create', 'Namespace'],
      ['precache-sa-create', 'ServiceAccount'],
      ['precache-crb-create', 'ClusterRoleBinding'],
      ['precache-spec-cm-create', 'ConfigMap'],
      ['precache-job-create', 'Job'],
    ]);
  });

  test('the job, field by field', () => {
    expect(template('precache-job-create')).toEqual({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'pre-cache', namespace: 'openshift-talo-pre-cache', annotations: management },
      spec: {
        activeDeadlineSeconds: 14_400,
        backoffLimit: 0,
        template: {
          metadata: { name: 'pre-cache', annotations: management },
          spec: {
            containers: [
              {
                name: 'pre-cache-container',
                image: 'registry.example/puller:1',
                command: ['/bin/bash', '-c'],
                args: ['/opt/precache/precache.sh'],
                env: [
                  { name: 'config_volume_path', value: '/tmp/precache/config' },
                  { name: 'NODE_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'spec.nodeName' } } },
                ],
                resources: {},
                securityContext: { privileged: true, runAsUser: 0 },
                terminationMessagePath: '/dev/termination-log',
                terminationMessagePolicy: 'File',
                volumeMounts: [
                  { name: 'config-volume', mountPath: '/etc/config', readOnly: true },
                  { name: 'host', mountPath: '/host' },
                  ...readOnly.map(([name, path]) => ({ name, mountPath: `/host${path}`, readOnly: true })),
                  ...writable.map(([name, path]) => ({ name, mountPath: `/host${path}` })),
                ],
              },
            ],
            dnsPolicy: 'ClusterFirst',
            priorityClassName: 'system-cluster-critical',
            restartPolicy: 'Never',
            schedulerName: 'default-scheduler',
            securityContext: {},
            serviceAccountName: 'pre-cache-agent',
            volumes: [
              { name: 'config-volume', configMap: { name: 'pre-cache-spec', defaultMode: 420 } },
              { name: 'host', emptyDir: {} },
              ...[...readOnly, ...writable].map(([name, path]) => ({
                name,
                hostPath: { path, type: path === '/etc/resolv.conf' ? 'File' : 'Directory' },
              })),
            ],
          },
        },
      },
    });
  });

  test('the binding to cluster-admin', () => {
    expect(template('precache-crb-create')).toEqual({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'pre-cache-crb' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'pre-cache-agent', namespace: 'openshift-talo-pre-cache' }],
    });
  });
});

describe('profile least-privilege', () => {
  const job = (change: Partial<WorkloadInputs> = {}) => template('precache-job-create', { profile: 'least-privilege', ...change });

  test('a Role of its own instead of cluster-admin', () => {
    const all = manifests({ profile: 'least-privilege' });
    expect(all.map(({ action }) => action)).toEqual([
      'precache-ns-create',
      'precache-sa-create',
      'precache-role-create',
      'precache-rb-create',
      'precache-spec-cm-create',
      'precache-job-create',
    ]);
    expect(JSON.stringify(all)).not.toContain('cluster-admin');
    expect(template('precache-role-create', { profile: 'least-privilege' })).toMatchObject({
      rules: [
        { apiGroups: ['batch'], resources: ['jobs/status'], verbs: ['patch'], resourceNames: ['pre-cache'] },
        { apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: ['pre-cache-spec'] },
      ],
    });
  });

  /** Objects recorded on such clusters; see the comments in the files. */
  const recorded = async (name: string): Promise<unknown> =>
    parseAllDocuments(await readFile(new URL(`recorded/${name}.yaml`, import.meta.url), 'utf8')).map((document) => document.toJS());
  const objects = (cluster: ManagedCluster) =>
    manifests({ profile: 'least-privilege', node: spokeNode(cluster), variables: { REGISTRY_CONFIG: '[]' } }).map(
      (manifest) => manifest.template,
    );

  test('on a cluster without SecurityContextConstraints, object by object', async () =>
    expect(objects(clusterObject(true))).toEqual(await recorded('plain-kubernetes')));

  test('on a cluster with several nodes, object by object: the Job leads, a DaemonSet follows under an account that only finds it', async () => {
    const all = manifests({
      profile: 'least-privilege',
      node: spokeNode(clusterObject(true)),
      nodes: NODES,
      variables: { REGISTRY_CONFIG: '[]' },
    });
    expect(all.map((manifest) => manifest.template)).toEqual(await recorded('several-nodes'));
    expect(all.filter(({ afterJob }) => afterJob).map(({ action }) => action)).toEqual([
      'precache-role-create',
      'precache-rb-create',
      'precache-node-sa-create',
      'precache-node-role-create',
      'precache-node-rb-create',
      'precache-nodes-create',
    ]);
  });

  test('on a cluster with SecurityContextConstraints, object by object', async () => {
    const openshift = { ...clusterObject(true), metadata: { name: 'spoke', labels: { vendor: 'OpenShift' } } };
    expect(objects(openshift)).toEqual(await recorded('openshift'));
  });

  test('leave to use the privileged constraints is there before the job', () => {
    const openshift = { ...clusterObject(true), metadata: { name: 'spoke', labels: { vendor: 'OpenShift' } } };
    const all = manifests({ profile: 'least-privilege', node: spokeNode(openshift) });
    const [grant] = all.filter(({ action }) => action === 'precache-scc-create');
    expect(grant?.afterJob).toBeUndefined();
    expect(all.map(({ action }) => action).slice(-3)).toEqual(['precache-scc-create', 'precache-spec-cm-create', 'precache-job-create']);
  });

  describe('on a spoke whose agent makes the account', () => {
    const claims = (value: string, vendor?: string): ManagedCluster => ({
      ...clusterObject(true),
      metadata: { name: 'spoke', ...(vendor && { labels: { vendor } }) },
      status: { ...clusterObject(true).status, clusterClaims: [{ name: 'transports.flotilla.io', value }] },
    });
    const kinds = (change: Partial<WorkloadInputs>) => manifests(change).map((manifest) => manifest.template.kind);

    test.each([{ vendor: undefined }, { vendor: 'OpenShift' }])('namespace, spec and job are all (vendor $vendor)', ({ vendor }) => {
      const node = spokeNode(claims('actions,works,puller-account', vendor));
      expect(kinds({ profile: 'least-privilege', node })).toEqual(['Namespace', 'ConfigMap', 'Job']);
      expect(job({ node })).toEqual(job({ node: { ...node, hasAccount: false } }));
    });

    test('an older agent of ours is sent the account, with no more than it may grant', () => {
      const node = spokeNode(claims('actions,works'));
      expect(kinds({ profile: 'least-privilege', node })).toContain('ServiceAccount');
      expect(template('precache-role-create', { profile: 'least-privilege', node })?.rules).toHaveLength(1);
    });

    test('profile talm brings its own all the same', () =>
      expect(kinds({ profile: 'talm', node: spokeNode(claims('actions,works,puller-account')) })).toEqual(kinds({ profile: 'talm' })));
  });

  test("the hub's certificate authorities come with the spec and stand before the node's", () => {
    const bundle = '-----BEGIN CERTIFICATE-----\n';
    const change = {
      caBundle: bundle,
      node: spokeNode({ ...clusterObject(true), metadata: { name: 's', labels: { vendor: 'OpenShift' } } }),
    };
    const spec = template('precache-spec-cm-create', { profile: 'least-privilege', ...change });
    expect(spec).toMatchObject({ data: { 'registry-ca.pem': bundle, spaceRequired: '35' } });
    expect(JSON.stringify(job(change))).toContain(
      '{"name":"REGISTRY_CA","value":"/etc/config/registry-ca.pem:/host/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"}',
    );
    expect(JSON.stringify(template('precache-spec-cm-create', change))).not.toContain('registry-ca.pem');
  });

  test("annotations of one cluster override the hub's settings for all", () => {
    const annotations = { 'flotilla.io/http-proxy': 'http://near:3128', 'flotilla.io/https-proxy': '' };
    const node = spokeNode({ ...clusterObject(true), metadata: { name: 's', annotations } });
    const text = JSON.stringify(
      job({ node, variables: { HTTP_PROXY: 'http://far:3128', HTTPS_PROXY: 'http://far:3128', NO_PROXY: '.local' } }),
    );
    expect(text).toContain('{"name":"HTTP_PROXY","value":"http://near:3128"}');
    expect(text).toContain('{"name":"NO_PROXY","value":".local"}');
    expect(text).not.toMatch(/far|HTTPS_PROXY/);
  });

  test('registry settings only when there are any', () => expect(JSON.stringify(job())).not.toContain('REGISTRY_CONFIG'));
});

test('a cap of now is in the ConfigMap alone', () => {
  const [capped, without] = [manifests({ bytesPerSecond: 300_000 }), manifests()];
  expect(capped.map((each, index) => (each.template.kind === 'ConfigMap' ? without[index] : each))).toEqual(without);
  expect(template('precache-spec-cm-create', { bytesPerSecond: 300_000 })).toMatchObject({ data: { bandwidth: '300000' } });
  expect(JSON.stringify(without)).not.toContain('bandwidth');
});

test.each(['talm', 'least-privilege'] as const)('profile %s: namespace first, with the upgrade it belongs to', (profile) => {
  expect(manifests({ profile })[0]?.template).toEqual({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: 'openshift-talo-pre-cache',
      labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
      annotations: { 'workload.openshift.io/allowed': 'management', 'flotilla.io/upgrade-uid': 'uid-1' },
    },
  });
});

describe('hub objects (spec/talm 3.5)', () => {
  const created = () => manifests().map((manifest) => createAction(place, manifest));

  test('actions that create', () => {
    const job = template('precache-job-create');
    expect(created().map((action) => [action.metadata.name, action.spec])).toMatchObject([
      ['precache-ns-create', { actionType: 'Create', kube: { resource: 'namespace' } }],
      ['precache-sa-create', { actionType: 'Create', kube: { resource: 'serviceaccount' } }],
      ['precache-crb-create', { actionType: 'Create', kube: { resource: 'clusterrolebinding' } }],
      ['precache-spec-cm-create', { actionType: 'Create', kube: { resource: 'configmap' } }],
      ['precache-job-create', { actionType: 'Create', kube: { resource: 'job', namespace: 'openshift-talo-pre-cache', template: job } }],
    ]);
  });

  test('actions that delete', () => {
    expect(deleteAction(place, 'precache-ns-delete', { when: 'after' }).spec).toEqual({
      actionType: 'Delete',
      kube: { resource: 'namespace', name: 'openshift-talo-pre-cache' },
    });
    expect(deleteAction(place, 'precache-crb-delete', { when: 'after' }).spec).toEqual({
      actionType: 'Delete',
      kube: { resource: 'clusterrolebinding', name: 'pre-cache-crb' },
    });
  });

  test('views', () => {
    expect(createView(place, precacheNames.views.namespace, 0).spec).toEqual({
      scope: { resource: 'namespaces', name: 'openshift-talo-pre-cache' },
    });
    expect(createView(place, precacheNames.views.job, 30).spec).toEqual({
      scope: { resource: 'jobs', name: 'pre-cache', namespace: 'openshift-talo-pre-cache', updateIntervalSeconds: 30 },
    });
  });

  test('labels stay within the 63 characters of a label, however long the name of the upgrade', () => {
    const long = { ...place, upgrade: { ...UPGRADE, name: 'u'.repeat(253) } };
    const objects = [
      ...manifests().map((manifest) => createAction(long, manifest)),
      deleteAction(long, 'precache-ns-delete', { when: 'after' }),
      createView(long, precacheNames.views.job, 4),
    ];
    for (const { metadata } of objects)
      expect(Object.values(metadata.labels ?? {}).filter((value) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value))).toEqual([]);
  });

  test('everything carries our labels', () => {
    const labels = {
      'openshift-cluster-group-upgrades/clusterGroupUpgrade': 'upgrade',
      'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace': 'default',
      'flotilla.io/upgrade-uid': 'uid-1',
      'flotilla.io/work': 'precache',
    };
    for (const object of [
      ...created(),
      deleteAction(place, 'precache-ns-delete', { when: 'after' }),
      createView(place, precacheNames.views.job, 4),
    ])
      expect(object.metadata).toMatchObject({ namespace: 'spoke', labels });
  });

  test('an action made from another spec has another digest', () => {
    const digest = (spec: WorkloadInputs['spec']) =>
      manifests({ spec }).map((manifest) => createAction(place, manifest).metadata.annotations?.['flotilla.io/template'])[3];
    expect(digest({ platformImage: 'a' })).toMatch(/^[0-9a-f]{16}$/);
    expect(digest({ platformImage: 'a' })).not.toBe(digest({ platformImage: 'b' }));
  });
});
