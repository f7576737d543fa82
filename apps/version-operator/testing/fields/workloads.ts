/** Workloads with the fields that public operators' pods set. */
import { app, type FieldObject, named, of } from './field-object.ts';

const probe = { httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 3 };
const container = {
  name: 'main',
  image: 'i:1',
  imagePullPolicy: 'IfNotPresent',
  command: ['run'],
  args: ['--a=1', ''],
  env: [
    { name: 'A', value: '1' },
    { name: 'B', value: '' },
    { name: 'NS', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
  ],
  ports: [{ name: 'metrics', containerPort: 8080, protocol: 'TCP' }],
  livenessProbe: probe,
  readinessProbe: probe,
  resources: { requests: { cpu: '10m', memory: '50Mi' }, limits: { memory: '1Gi' } },
  securityContext: {
    allowPrivilegeEscalation: false,
    privileged: false,
    readOnlyRootFilesystem: true,
    runAsUser: 0,
    runAsNonRoot: false,
    capabilities: { drop: ['ALL'] },
  },
  terminationMessagePolicy: 'FallbackToLogsOnError',
  volumeMounts: [
    { name: 'config', mountPath: '/etc/config', readOnly: true },
    { name: 'empty', mountPath: '/tmp', readOnly: false },
  ],
};
const pod = {
  metadata: { labels: app, annotations: { 'target.workload/management': '{}', empty: '' } },
  spec: {
    serviceAccountName: 'serviceaccount',
    automountServiceAccountToken: false,
    priorityClassName: 'system-cluster-critical',
    dnsPolicy: 'Default',
    hostNetwork: false,
    nodeSelector: { 'node-role.kubernetes.io/master': '' },
    terminationGracePeriodSeconds: 30,
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    tolerations: [
      { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' },
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 120 },
    ],
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: app } } },
        ],
      },
    },
    initContainers: [{ name: 'first', image: 'i:1', command: ['true'] }],
    containers: [container],
    volumes: [
      { name: 'config', configMap: { name: 'configmap', optional: false } },
      { name: 'empty', emptyDir: {} },
      { name: 'secret', secret: { secretName: 'secret', optional: true, defaultMode: 420 } },
      { name: 'host', hostPath: { path: '/etc/x', type: 'Directory' } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'x', expirationSeconds: 3600 } }] } },
    ],
  },
};
/** Additions to pods of kinds that are merged, and to those of others. */
const morePod = {
  spec: {
    hostPID: true,
    hostUsers: true,
    shareProcessNamespace: true,
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['x'] }],
    dnsConfig: { nameservers: ['10.0.0.1'] },
    imagePullSecrets: [{ name: 'x' }],
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: app } },
    ],
    securityContext: { fsGroup: 1, supplementalGroups: [1], sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    containers: [
      {
        envFrom: [{ configMapRef: { name: 'x' } }],
        lifecycle: { preStop: { exec: { command: ['true'] } } },
        startupProbe: { exec: { command: ['true'] } },
        workingDir: '/',
        stdin: true,
        tty: true,
        securityContext: { capabilities: { add: ['SYS_TIME'] }, procMount: 'Default', runAsGroup: 1 },
        resources: { limits: { cpu: '1' } },
        livenessProbe: { failureThreshold: 9 },
      },
    ],
  },
};
const template = { selector: { matchLabels: app }, template: pod };
const POD = String.raw`template\.spec\.`;
/** As the merge rules of pods have it: spec/cvo 3.5. */
const podRules = (prefix: string): [string, RegExp][] => [
  ['merge rules of a kind', new RegExp(`^${prefix}${POD}(hostPID|hostAliases|dnsConfig|imagePullSecrets|topologySpreadConstraints)\\b`)],
  ['merge rules of a kind', new RegExp(`^${prefix}${POD}securityContext\\.(supplementalGroups|sysctls) added`)],
  ['merge rules of a kind', new RegExp(`^${prefix}${POD}tolerations\\S* (extended|changed|false|0|""|null|\\{\\}|\\[\\]|removed)`)],
  ['merge rules of a kind', new RegExp(`^${prefix}${POD}nodeSelector extended`)],
  [
    'merge rules of a kind',
    new RegExp(
      `^${prefix}${POD}(init)?[cC]ontainers\\[0\\]\\.(imagePullPolicy|lifecycle|startupProbe|workingDir|stdin|tty|terminationMessagePolicy|terminationMessagePath)\\b`,
    ),
  ],
  ['merge rules of a kind', new RegExp(`^${prefix}${POD}containers\\[0\\]\\.securityContext\\.(procMount|runAsGroup|capabilities)\\b`)],
  ['merge rules of a kind', new RegExp(`^${prefix}template\\.metadata\\.(labels|annotations) extended`)],
];

/** Workloads, with pods that set most fields. */
export const workloads: readonly FieldObject[] = [
  of(
    'deployments',
    named('apps/v1', 'Deployment', {
      spec: {
        replicas: 2,
        minReadySeconds: 0,
        paused: false,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
        ...template,
      },
    }),
    {
      more: { spec: { revisionHistoryLimit: 3, progressDeadlineSeconds: 100, template: morePod } },
      given: [...podRules(String.raw`spec\.`), ['merge rules of a kind', /^spec\.(revisionHistoryLimit|progressDeadlineSeconds) added/]],
    },
  ),
  of(
    'daemonsets',
    named('apps/v1', 'DaemonSet', {
      spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } }, ...template },
    }),
    {
      more: { spec: { minReadySeconds: 5, revisionHistoryLimit: 3, template: morePod } },
      given: [...podRules(String.raw`spec\.`), ['merge rules of a kind', /^spec\.(updateStrategy|minReadySeconds|revisionHistoryLimit)\b/]],
    },
  ),
  of(
    'statefulsets',
    named('apps/v1', 'StatefulSet', {
      spec: { serviceName: 's', replicas: 1, podManagementPolicy: 'Parallel', updateStrategy: { type: 'OnDelete' }, ...template },
    }),
    { more: { spec: { minReadySeconds: 5, template: morePod } } },
  ),
  of(
    'cronjobs',
    named('batch/v1', 'CronJob', {
      spec: {
        schedule: '0 0 * * *',
        suspend: false,
        concurrencyPolicy: 'Forbid',
        successfulJobsHistoryLimit: 0,
        failedJobsHistoryLimit: 1,
        startingDeadlineSeconds: 100,
        jobTemplate: {
          spec: { backoffLimit: 0, template: { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } } },
        },
      },
    }),
    {
      more: { spec: { timeZone: 'Etc/UTC', jobTemplate: { spec: { ttlSecondsAfterFinished: 5, template: morePod } } } },
      given: podRules(String.raw`spec\.jobTemplate\.spec\.`),
    },
  ),
  of(
    'jobs',
    named('batch/v1', 'Job', {
      spec: { backoffLimit: 3, suspend: false, template: { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } } },
    }),
    {
      more: { spec: { activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 100_000 } },
      // a server gives a Job without labels those of its pods
      given: [['metadata', /^metadata\.labels(\.kept)? (null|removed|\{\})/]],
    },
  ),
];
