import { describe, expect, it, test } from 'vitest';
import { type Json, objectAt, objectsAt } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { isSameContent } from './drift.ts';
import { cronJob, job } from './jobs.ts';
import { deployment } from './workloads.ts';

/** True when a server may have made the live object of the built one. */
const seems = ({ merge, resembles }: Builder, live: Json, built: Json): boolean => resembles(live, merge(live, built));

const manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', namespace: 'ns', labels: { app: 'd' } },
  spec: {
    selector: { matchLabels: { app: 'd' } },
    template: {
      metadata: { labels: { app: 'd' } },
      spec: {
        serviceAccountName: 'd',
        nodeSelector: { role: 'master' },
        tolerations: [{ key: 'a', operator: 'Exists' }],
        containers: [
          {
            name: 'main',
            image: 'i:1',
            command: ['run'],
            env: [
              { name: 'NS', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
              { name: 'EMPTY', value: '' },
            ],
            resources: { requests: { cpu: '1000m', memory: '1Gi' } },
            ports: [{ name: 'web', containerPort: 80 }],
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
            readinessProbe: { httpGet: { port: 80 } },
          },
        ],
        volumes: [
          { name: 'v', secret: { secretName: 's' } },
          { name: 'tmp' },
          { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
        ],
      },
    },
  },
};

/** The object of the manifest with the defaults of a server. */
const live = {
  ...manifest,
  metadata: {
    ...manifest.metadata,
    uid: 'u',
    resourceVersion: '7',
    generation: 1,
    annotations: { 'deployment.kubernetes.io/revision': '1' },
  },
  spec: {
    ...manifest.spec,
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
    template: {
      metadata: { creationTimestamp: null, labels: { app: 'd' } },
      spec: {
        serviceAccountName: 'd',
        serviceAccount: 'd',
        nodeSelector: { role: 'master' },
        tolerations: [{ key: 'a', operator: 'Exists' }],
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        schedulerName: 'default-scheduler',
        securityContext: {},
        terminationGracePeriodSeconds: 30,
        containers: [
          {
            name: 'main',
            image: 'i:1',
            command: ['run'],
            imagePullPolicy: 'IfNotPresent',
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
            env: [{ name: 'NS', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } } }, { name: 'EMPTY' }],
            resources: { requests: { cpu: '1', memory: '1Gi' } },
            ports: [{ name: 'web', containerPort: 80, protocol: 'TCP' }],
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
            readinessProbe: {
              httpGet: { port: 80, path: '/', scheme: 'HTTP' },
              timeoutSeconds: 1,
              periodSeconds: 10,
              successThreshold: 1,
              failureThreshold: 3,
            },
          },
        ],
        volumes: [
          { name: 'v', secret: { secretName: 's', defaultMode: 420 } },
          { name: 'tmp', emptyDir: {} },
          { name: 'token', projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }] } },
        ],
      },
    },
  },
};

const podOf = (object: Json): Json => objectAt(objectAt(objectAt(object.spec).template).spec);
/** The live object with its pod's spec changed. */
const withPod = (change: (pod: Json) => Json): Json => ({
  ...live,
  spec: { ...live.spec, template: { ...live.spec.template, spec: change(live.spec.template.spec) } },
});
const withContainer = (change: (container: Json) => Json) =>
  withPod((pod) => ({ ...pod, containers: objectsAt(pod.containers).map(change) }));
const merged = (object: Json): Json => deployment.merge(object, manifest);

describe('a Deployment', () => {
  it('is as its manifest says when a server has filled in its defaults', () => {
    expect(seems(deployment, live, manifest)).toBe(true);
  });

  test.each<{ name: string; drifted: Json; mended?: (object: Json) => unknown; to?: unknown }>([
    {
      name: 'replicas scaled by hand',
      drifted: { ...live, spec: { ...live.spec, replicas: 5 } },
      mended: ({ spec }) => objectAt(spec).replicas,
      to: 1,
    },
    {
      name: 'another image',
      drifted: withContainer((one) => ({ ...one, image: 'i:2' })),
      mended: (object) => objectsAt(podOf(object).containers)[0]?.image,
      to: 'i:1',
    },
    {
      name: 'a further container',
      drifted: withPod((pod) => ({ ...pod, containers: [...objectsAt(pod.containers), { name: 'x', image: 'x' }] })),
      mended: (object) => objectsAt(podOf(object).containers).length,
      to: 1,
    },
    {
      name: 'a further volume',
      drifted: withPod((pod) => ({ ...pod, volumes: [...objectsAt(pod.volumes), { name: 'x', emptyDir: {} }] })),
      mended: (object) => objectsAt(podOf(object).volumes).length,
      to: 3,
    },
    {
      name: 'a further variable',
      drifted: withContainer((one) => ({ ...one, env: [...objectsAt(one.env), { name: 'X', value: '1' }] })),
      mended: (object) => objectsAt(objectsAt(podOf(object).containers)[0]?.env).length,
      to: 2,
    },
    {
      name: 'the host network',
      drifted: withPod((pod) => ({ ...pod, hostNetwork: true })),
      mended: (object) => podOf(object).hostNetwork,
      to: undefined,
    },
    { name: 'a liveness probe', drifted: withContainer((one) => ({ ...one, livenessProbe: { exec: { command: ['x'] } } })) },
    { name: 'smaller requests', drifted: withContainer((one) => ({ ...one, resources: { requests: { cpu: '10m', memory: '1Gi' } } })) },
    {
      name: 'a lost label',
      drifted: { ...live, metadata: { ...live.metadata, labels: {} } },
      mended: ({ metadata }) => objectAt(metadata).labels,
      to: { app: 'd' },
    },
    { name: 'a missing toleration', drifted: withPod((pod) => ({ ...pod, tolerations: [] })) },
    { name: 'another strategy', drifted: { ...live, spec: { ...live.spec, strategy: { type: 'Recreate' } } } },
  ])('loses $name', ({ drifted, mended, to }) => {
    expect(seems(deployment, drifted, manifest)).toBe(false);
    if (mended) expect(mended(merged(drifted))).toEqual(to);
    expect(seems(deployment, merged(drifted), manifest)).toBe(true);
  });

  test.each<{ name: string; object: Json }>([
    { name: "somebody's label", object: { ...live, metadata: { ...live.metadata, labels: { app: 'd', mine: '1' } } } },
    { name: "somebody's toleration", object: withPod((pod) => ({ ...pod, tolerations: [...objectsAt(pod.tolerations), { key: 'b' }] })) },
    { name: 'a node selector', object: withPod((pod) => ({ ...pod, nodeSelector: { role: 'master', zone: 'a' } })) },
    { name: 'an affinity', object: withPod((pod) => ({ ...pod, affinity: { podAffinity: {} } })) },
    { name: 'a pull policy', object: withContainer((one) => ({ ...one, imagePullPolicy: 'Always' })) },
    { name: 'a history limit', object: { ...live, spec: { ...live.spec, revisionHistoryLimit: 3 } } },
  ])('keeps $name', ({ object }) => {
    expect(seems(deployment, object, manifest)).toBe(true);
  });

  it('keeps each of several entries that have no name, or the same', () => {
    const twice = [
      { containerPort: 80, protocol: 'TCP' },
      { containerPort: 81, protocol: 'TCP' },
    ];
    const built = withContainer((one) => ({ ...one, ports: twice }));
    expect(isSameContent(built, deployment.merge(built, built))).toBe(true);
    const lost = withContainer((one) => ({ ...one, ports: [twice[1]] }));
    expect(objectsAt(podOf(deployment.merge(lost, built)).containers)[0]?.ports).toEqual(twice);
  });

  it('leaves host ports to the server', () => {
    const onHost = {
      ...manifest,
      spec: { ...manifest.spec, template: { ...manifest.spec.template, spec: { ...manifest.spec.template.spec, hostNetwork: true } } },
    };
    const withPort = (hostPort?: number) =>
      withPod((pod) => ({
        ...pod,
        hostNetwork: true,
        containers: objectsAt(pod.containers).map((one) => ({
          ...one,
          ports: [{ name: 'web', containerPort: 80, protocol: 'TCP', ...(hostPort && { hostPort }) }],
        })),
      }));
    expect(seems(deployment, withPort(), onHost)).toBe(true);
    expect(seems(deployment, withPort(80), onHost)).toBe(true);
  });
});

const judging = { state: 'Updating', degradedBlocks: true } as const;
const condition = (type: string, status: string, reason = 'R') => ({ type, status, reason, message: 'M' });

describe('a Job', () => {
  const template = { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } };
  const wanted = { metadata: { name: 'j', namespace: 'ns' }, spec: { template } };
  const running = {
    metadata: { name: 'j', namespace: 'ns', uid: 'u' },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      suspend: false,
      completionMode: 'NonIndexed',
      manualSelector: false,
      selector: { matchLabels: { 'controller-uid': 'u' } },
      template: {
        metadata: { labels: { 'controller-uid': 'u' } },
        spec: {
          ...template.spec,
          containers: [{ name: 'c', image: 'i', resources: {} }],
          dnsPolicy: 'ClusterFirst',
          terminationGracePeriodSeconds: 30,
          securityContext: {},
        },
      },
    },
  };

  it('is as its manifest says when the server has chosen its selector', () => {
    expect(seems(job, running, wanted)).toBe(true);
  });

  it('refuses what cannot be changed, and says so', () => {
    const other = { ...wanted, spec: { template: { spec: { ...template.spec, containers: [{ name: 'c', image: 'i:2' }] } } } };
    expect(() => job.merge(running, other)).toThrow('Could not update job ns/j: spec.template of a Job cannot be changed');
  });

  test.each<{ name: string; status: Json; is: string; message?: string }>([
    { name: 'not begun', status: {}, is: 'waiting', message: 'job ns/j is not done: it has not begun yet' },
    { name: 'running', status: { active: 1 }, is: 'waiting', message: 'job ns/j is not done: 1 of its pods run' },
    { name: 'tried again after a failure', status: { active: 1, failed: 2 }, is: 'waiting' },
    { name: 'done', status: { succeeded: 1 }, is: 'ready' },
    { name: 'complete', status: { conditions: [condition('Complete', 'True')] }, is: 'ready' },
    {
      name: 'out of time',
      status: { failed: 1, conditions: [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded', message: 'too long' }] },
      is: 'failed',
      message: 'job ns/j: deadline exceeded, reason: "DeadlineExceeded", message: "too long"',
    },
    {
      name: 'out of tries',
      status: { failed: 7, conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'often' }] },
      is: 'failed',
      message: 'job ns/j: failed, reason: "BackoffLimitExceeded", message: "often"',
    },
  ])('$name: $is, while a cluster is installed and updated', ({ status, is, message }) => {
    for (const state of ['Initializing', 'Updating'] as const) {
      const verdict = job.judge?.(
        { metadata: { name: 'j', namespace: 'ns' }, spec: { completions: 1, backoffLimit: 6 }, status },
        { ...judging, state },
      );
      expect(verdict?.is).toBe(is);
      if (message) expect(verdict && 'error' in verdict && verdict.error.message).toBe(message);
    }
  });

  it('in a CronJob has what its manifest says and no more', () => {
    const spec = { schedule: '* * * * *', jobTemplate: { spec: { template } } };
    const kept = {
      metadata: { name: 'c' },
      spec: {
        ...spec,
        concurrencyPolicy: 'Allow',
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
        jobTemplate: { spec: { template: running.spec.template } },
      },
    };
    expect(seems(cronJob, kept, { metadata: { name: 'c' }, spec })).toBe(true);
    expect(seems(cronJob, { ...kept, spec: { ...kept.spec, schedule: '1 * * * *' } }, { metadata: { name: 'c' }, spec })).toBe(false);
  });
});

const portsOf = (object: Json): unknown => objectsAt(podOf(object).containers)[0]?.ports;
const port = (containerPort: number, hostPort?: number): Json => ({
  name: 'web',
  containerPort,
  protocol: 'TCP',
  ...(hostPort && { hostPort }),
});

test('a host port that somebody opened goes', () => {
  const opened = withContainer((container) => ({ ...container, ports: [port(80, 80)] }));
  expect(portsOf(merged(opened))).toEqual([port(80)]);
});

test("another port of the host's network does not keep the host port of the one before, which the server would refuse", () => {
  const onHost = (ports: Json[]): Json => {
    const pod = { ...manifest.spec.template.spec, hostNetwork: true };
    const containers = objectsAt(pod.containers).map((one) => ({ ...one, ports }));
    return { ...manifest, spec: { ...manifest.spec, template: { ...manifest.spec.template, spec: { ...pod, containers } } } };
  };
  const before = deployment.merge(
    withPod((pod) => ({
      ...pod,
      hostNetwork: true,
      containers: objectsAt(pod.containers).map((one) => ({ ...one, ports: [port(80, 80)] })),
    })),
    onHost([port(80)]),
  );
  expect(portsOf(before)).toEqual([port(80, 80)]);
  expect(portsOf(deployment.merge(before, onHost([port(81)])))).not.toEqual([port(81, 80)]);
});
