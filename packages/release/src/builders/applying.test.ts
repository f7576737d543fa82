import { describe, expect, it, test } from 'vitest';
import { payloadManifest } from '../../testing/payload-fixture.ts';
import { type Json, objectAt, objectsAt } from '../json-values.ts';
import { expectedOperator, judgeOperator } from './cluster-operator.ts';
import { builderOf, buildObject, intentOf } from './dispatch.ts';
import { generic } from './generic.ts';
import { mergeMetadata } from './merge.ts';
import { tlsOf } from './tls.ts';
import { deployment } from './workloads.ts';

const FILE = 'release-manifests/0000_50_a_x.yaml';
const manifestOf = (object: object) => payloadManifest(FILE, { apiVersion: 'v1', kind: 'ConfigMap', ...object });
const built = (object: object, context = {}) => {
  const manifest = manifestOf(object);
  return buildObject(manifest, manifest.object, context);
};

describe('owners of what is applied', () => {
  const owner = { apiVersion: 'config.openshift.io/v1', kind: 'ClusterVersion', name: 'version', uid: 'u' };
  test.each<{ name: string; metadata: Json; owners: unknown }>([
    { name: 'the ClusterVersion', metadata: {}, owners: [{ ...owner, controller: true }] },
    {
      name: 'the ClusterVersion, which does not control what is only created',
      metadata: { annotations: { 'release.openshift.io/create-only': 'true' } },
      owners: [owner],
    },
    { name: 'those that the manifest names', metadata: { ownerReferences: [{ kind: 'X', uid: 'x' }] }, owners: [{ kind: 'X', uid: 'x' }] },
    {
      name: 'no other ClusterVersion',
      metadata: { ownerReferences: [{ kind: 'ClusterVersion', uid: 'old' }] },
      owners: [{ ...owner, controller: true }],
    },
  ])('$name', ({ metadata, owners }) => {
    expect(objectAt(built({ metadata: { name: 'a', ...metadata } }, { ownerUid: 'u' }).metadata).ownerReferences).toEqual(owners);
  });

  it('stand beside others, and take the place of one of their name that is gone', () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'x' };
    const owners = (live: readonly Json[]) =>
      mergeMetadata({ ownerReferences: live }, { ownerReferences: [{ ...owner, controller: true }] }).ownerReferences;
    expect(owners([other])).toEqual([other, { ...owner, controller: true }]);
    expect(owners([{ ...owner, blockOwnerDeletion: true }])).toEqual([{ ...owner, blockOwnerDeletion: true, controller: true }]);
    expect(owners([other, { ...owner, uid: 'of one that was deleted', controller: true }])).toEqual([
      other,
      { ...owner, controller: true },
    ]);
  });

  it('say nothing of status and times', () => {
    expect(built({ metadata: { name: 'a', creationTimestamp: null }, status: { a: 1 } })).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
    });
  });
});

describe('what is done with a manifest', () => {
  test.each([
    { annotations: {}, intent: 'apply' },
    { annotations: { 'release.openshift.io/create-only': 'True' }, intent: 'create-only' },
    { annotations: { 'release.openshift.io/create-only': 'yes' }, intent: 'apply' },
    { annotations: { 'release.openshift.io/delete': 'true' }, intent: 'delete' },
  ])('$annotations: $intent', ({ annotations, intent }) => {
    expect(intentOf(manifestOf({ metadata: { name: 'a', annotations } }))).toBe(intent);
  });

  it('is refused where nobody can tell', () => {
    const manifest = manifestOf({ metadata: { name: 'a', annotations: { 'release.openshift.io/delete': 'yes' } } });
    expect(() => intentOf(manifest)).toThrow('invalid delete annotation "release.openshift.io/delete" value: "yes"');
  });

  it('goes by rules of its own for some kinds, in exactly their version', () => {
    const version = (apiVersion: string) => builderOf(manifestOf({ apiVersion, kind: 'Deployment', metadata: { name: 'a' } }));
    expect(version('apps/v1')).not.toBe(generic);
    expect(version('apps/v1beta1')).toBe(generic);
  });
});

describe('the cluster in what is applied', () => {
  const workload = (annotations: Json, name = 'd', namespace = 'n') => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, annotations },
    spec: {
      template: {
        spec: {
          initContainers: [{ name: 'init' }],
          containers: [{ name: 'main', env: [{ name: 'HTTP_PROXY', value: 'old' }] }, { name: 'cluster-version-operator' }],
        },
      },
    },
  });
  const proxy = { httpProxy: 'http://p', httpsProxy: '', noProxy: '.local' };
  const pod = (object: Json): Json => objectAt(objectAt(objectAt(object.spec).template).spec);

  it('has its proxy where a container asks for it', () => {
    const object = built(workload({ 'config.openshift.io/inject-proxy': 'main,init' }), { proxy });
    const env = [
      { name: 'HTTP_PROXY', value: 'http://p' },
      { name: 'NO_PROXY', value: '.local' },
    ];
    expect(objectsAt(pod(object).containers)[0]?.env).toEqual(env);
    expect(objectsAt(pod(object).initContainers)[0]?.env).toEqual(env);
    expect(objectsAt(pod(object).containers)[1]).toEqual({ name: 'cluster-version-operator' });
  });

  it('has its init containers and volumes in the order of the release, whatever was taken out by hand', () => {
    const pod = (initContainers: string[], volumes: string[]) => ({
      ...workload({}),
      spec: { template: { spec: { initContainers: initContainers.map(named), volumes: volumes.map(named) } } },
    });
    const named = (name: string) => ({ name });
    const merged = objectAt(deployment.merge(pod(['second'], ['c', 'a']), pod(['first', 'second'], ['a', 'b', 'c'])));
    const { initContainers, volumes } = objectAt(objectAt(objectAt(merged.spec).template).spec);
    expect(objectsAt(initContainers).map(({ name }) => name)).toEqual(['first', 'second']);
    expect(objectsAt(volumes).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('has no proxy where there is none', () => {
    const object = workload({ 'config.openshift.io/inject-proxy': 'main' });
    expect(built(object, { proxy: { httpProxy: '', httpsProxy: '', noProxy: '' } })).toEqual(built(object));
  });

  it('refuses a container that is not there', () => {
    const object = workload({ 'config.openshift.io/inject-proxy': 'other' });
    expect(() => built(object, { proxy })).toThrow('requested injection for non-existent container: "other"');
  });

  it('runs nothing of the reference operator, whose place this one takes', () => {
    const object = built(workload({}, 'cluster-version-operator', 'openshift-cluster-version'), { apiServerUrl: 'https://api.local:6443' });
    expect(objectAt(object.spec).replicas).toBe(0);
    expect(objectsAt(pod(object).containers)[1]?.env).toEqual([
      { name: 'KUBERNETES_SERVICE_HOST', value: 'api.local' },
      { name: 'KUBERNETES_SERVICE_PORT', value: '6443' },
    ]);
  });

  it('has its TLS profile in configuration files that ask for it, and keeps their format', () => {
    const text = (kind: string, apiVersion: string) =>
      `# kept\napiVersion: ${apiVersion}\nkind: ${kind}\nservingInfo:\n  bindAddress: a # kept too\n`;
    const object = built(
      {
        metadata: { name: 'a', annotations: { 'config.openshift.io/inject-tls': 'true' } },
        data: {
          'config.yaml': text('GenericOperatorConfig', 'operator.openshift.io/v1alpha1'),
          other: text('Other', 'v1'),
          broken: '\tkind: GenericOperatorConfig',
        },
      },
      { tls: tlsOf({ type: 'Modern' }) },
    );
    expect(object.data).toEqual({
      'config.yaml': `${text('GenericOperatorConfig', 'operator.openshift.io/v1alpha1')}  minTLSVersion: VersionTLS13\n  cipherSuites:\n    - TLS_AES_128_GCM_SHA256\n    - TLS_AES_256_GCM_SHA384\n    - TLS_CHACHA20_POLY1305_SHA256\n`,
      other: text('Other', 'v1'),
      broken: '\tkind: GenericOperatorConfig',
    });
  });

  test.each([
    { profile: undefined, minTLSVersion: 'VersionTLS12', suites: 9 },
    { profile: { type: 'Old' }, minTLSVersion: 'VersionTLS10', suites: 21 },
    {
      profile: {
        type: 'Custom',
        custom: {
          minTLSVersion: 'VersionTLS11',
          ciphers: [
            'ECDHE-RSA-AES128-GCM-SHA256',
            'DHE-RSA-AES128-GCM-SHA256',
            'DES-CBC3-SHA',
            'AES128-SHA256',
            'ECDHE-RSA-CHACHA20-POLY1305',
          ],
        },
      },
      minTLSVersion: 'VersionTLS11',
      suites: 4,
    },
  ])('knows the profile $profile.type', ({ profile, minTLSVersion, suites }) => {
    const tls = tlsOf(profile);
    expect(tls.minTLSVersion).toBe(minTLSVersion);
    expect(tls.cipherSuites).toHaveLength(suites);
  });
});

describe('how far an operator is', () => {
  const expected = expectedOperator({ metadata: { name: 'dns' }, status: { versions: [{ name: 'operator', version: '2' }] } });
  const status = (available: string | undefined, degraded: string | undefined, version = '2') => ({
    status: {
      conditions: [
        ...(available ? [{ type: 'Available', status: available, reason: 'A', message: 'a' }] : []),
        ...(degraded ? [{ type: 'Degraded', status: degraded, reason: 'D', message: 'd' }] : []),
      ],
      versions: [
        { name: 'operator', version },
        { name: 'extra', version: '9' },
      ],
    },
  });
  test.each<{
    name: string;
    live: Json;
    state?: 'Initializing' | 'Reconciling';
    blocks?: boolean;
    is: string;
    reason?: string;
    effect?: string;
    message?: string;
  }>([
    { name: 'as it should be', live: status('True', 'False'), is: 'ready' },
    {
      name: 'without a report',
      live: {},
      is: 'failed',
      reason: 'ClusterOperatorNotAvailable',
      effect: 'Fail',
      message: 'Cluster operator dns is not available',
    },
    { name: 'not available', live: status('False', 'False'), is: 'failed', reason: 'ClusterOperatorNotAvailable', effect: 'Fail' },
    { name: 'of unknown health', live: status('Unknown', 'False'), is: 'failed', reason: 'ClusterOperatorNotAvailable', effect: 'Fail' },
    {
      name: 'degraded',
      live: status('True', 'True'),
      is: 'failed',
      reason: 'ClusterOperatorDegraded',
      effect: 'FailAfterInterval',
      message: 'Cluster operator dns is degraded: D: d',
    },
    {
      name: 'degraded in a cluster that is as it should be',
      live: status('True', 'True'),
      state: 'Reconciling',
      is: 'failed',
      reason: 'ClusterOperatorDegraded',
      effect: 'Fail',
    },
    {
      name: 'degraded in a cluster that is as it should be, which does not block',
      live: status('True', 'True'),
      state: 'Reconciling',
      blocks: false,
      is: 'reported',
      reason: 'ClusterOperatorDegraded',
      effect: 'FailAfterInterval',
    },
    {
      name: 'silent about being degraded',
      live: status('True', undefined),
      is: 'failed',
      reason: 'ClusterOperatorDegraded',
      effect: 'FailAfterInterval',
    },
    {
      name: 'degraded, which does not block',
      live: status('True', 'True'),
      blocks: false,
      is: 'reported',
      reason: 'ClusterOperatorDegraded',
      effect: 'FailAfterInterval',
    },
    {
      name: 'degraded and behind, which does not block',
      live: status('True', 'True', '1'),
      blocks: false,
      is: 'waiting',
      reason: 'ClusterOperatorUpdating',
      effect: 'None',
    },
    {
      name: 'behind',
      live: status('True', 'False', '1'),
      is: 'waiting',
      reason: 'ClusterOperatorUpdating',
      effect: 'None',
      message: 'Cluster operator dns is updating versions',
    },
    { name: 'behind while it is installed', live: status('True', 'False', '1'), state: 'Initializing', is: 'ready' },
    {
      name: 'degraded while it is installed',
      live: status('True', 'True'),
      state: 'Initializing',
      is: 'reported',
      reason: 'ClusterOperatorDegraded',
      effect: 'Report',
    },
    {
      name: 'not available while it is installed',
      live: status('False', 'False'),
      state: 'Initializing',
      is: 'failed',
      reason: 'ClusterOperatorNotAvailable',
      effect: 'Fail',
    },
  ])('$name: $is', ({ live, state = 'Updating' as const, blocks = true, is, reason, effect, message }) => {
    const verdict = judgeOperator(live, expected, { state, degradedBlocks: blocks });
    expect(verdict.is).toBe(is);
    if (verdict.is === 'ready') return;
    expect({ reason: verdict.error.reason, effect: verdict.error.effect }).toEqual({ reason, effect });
    if (message) expect(verdict.error.message).toBe(message);
  });

  it('is a failure where its manifest expects nothing', () => {
    const nothing = expectedOperator({ metadata: { name: 'dns' } });
    const verdict = judgeOperator(status('True', 'False'), nothing, { state: 'Updating', degradedBlocks: true });
    expect(verdict.is === 'failed' && verdict.error.message).toBe('Cluster operator dns does not declare expected versions');
  });

  it('is made with an empty spec', () => {
    const object = built({
      apiVersion: 'config.openshift.io/v1',
      kind: 'ClusterOperator',
      metadata: { name: 'dns' },
      status: { versions: [] },
    });
    expect(object).toEqual({ apiVersion: 'config.openshift.io/v1', kind: 'ClusterOperator', metadata: { name: 'dns' }, spec: {} });
  });
});
