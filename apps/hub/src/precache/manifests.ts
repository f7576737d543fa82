/** The objects a pre-cache puts on a spoke, in the order they must be created (spec/talm 3.5, 3.6). Pure. */
import { PrecacheAction, PrecacheSpecKey, type PrecachingSpec, SpokeName } from '@flotilla/api';
import type { SpokeManifest } from '../spoke-job/definition.ts';
import { clusterAdminTemplate, MANAGEMENT_ANNOTATION, namespaceTemplate } from '../spoke-job/templates.ts';
import { talmJobTemplate } from './talm-job.ts';
import type { JobProfile, WorkloadInputs } from './workload-inputs.ts';

const namespace = SpokeName.namespace;

/** All objects of a pre-cache. The first is the namespace, the last is the job. */
export function precacheManifests(inputs: WorkloadInputs): SpokeManifest[] {
  return [
    { action: PrecacheAction.createNamespace, template: namespaceTemplate(namespace, inputs.upgradeUid) },
    { action: PrecacheAction.createServiceAccount, template: object('v1', 'ServiceAccount', SpokeName.serviceAccount) },
    ...rbac(inputs.profile),
    {
      action: PrecacheAction.createSpecConfigMap,
      template: { ...object('v1', 'ConfigMap', SpokeName.specConfigMap), data: specData(inputs.spec) },
    },
    { action: PrecacheAction.createJob, template: inputs.profile === 'talm' ? talmJobTemplate(inputs) : jobTemplate(inputs) },
  ];
}

const object = (apiVersion: string, kind: string, name: string) => ({ apiVersion, kind, metadata: { name, namespace } });

function rbac(profile: JobProfile): SpokeManifest[] {
  if (profile === 'talm')
    return [{ action: PrecacheAction.createClusterRoleBinding, template: clusterAdminTemplate(SpokeName, SpokeName.serviceAccount) }];
  // `create` cannot be limited by name; everything else is limited to the one ConfigMap the puller writes.
  const rules = [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['patch'], resourceNames: [SpokeName.progressConfigMap] },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: SpokeName.role };
  return [
    {
      action: PrecacheAction.createRole,
      template: { ...object('rbac.authorization.k8s.io/v1', 'Role', SpokeName.role), rules },
    },
    {
      action: PrecacheAction.createRoleBinding,
      afterJob: true,
      template: {
        ...object('rbac.authorization.k8s.io/v1', 'RoleBinding', SpokeName.roleBinding),
        roleRef,
        subjects: [{ kind: 'ServiceAccount', name: SpokeName.serviceAccount, namespace }],
      },
    },
  ];
}

/** Data of ConfigMap `pre-cache-spec`: every key present, joined by newlines, no final newline. */
export function specData(spec: PrecachingSpec): Record<string, string> {
  const lines = (values: readonly string[] | undefined) => (values ?? []).join('\n');
  return {
    [PrecacheSpecKey.operatorsIndexes]: lines(spec.operatorsIndexes),
    [PrecacheSpecKey.operatorsPackagesAndChannels]: lines(spec.operatorsPackagesAndChannels),
    [PrecacheSpecKey.excludePrecachePatterns]: lines(spec.excludePrecachePatterns),
    [PrecacheSpecKey.additionalImages]: lines(spec.additionalImages),
    [PrecacheSpecKey.platformImage]: spec.platformImage ?? '',
    [PrecacheSpecKey.spaceRequired]: spec.spaceRequired ?? '',
  };
}

function jobTemplate(inputs: WorkloadInputs): SpokeManifest['template'] {
  const { runtime } = inputs;
  const hostPath = (name: string, path: string, type: string) => ({ name, hostPath: { path, type } });
  const volumes: Record<string, unknown>[] = [
    { name: 'config', configMap: { name: SpokeName.specConfigMap, defaultMode: 420 } },
    hostPath('runtime-socket', runtime.socket, 'Socket'),
    hostPath('runtime-storage', runtime.storage, 'Directory'),
  ];
  const volumeMounts: Record<string, unknown>[] = [
    { name: 'config', mountPath: '/etc/config', readOnly: true },
    { name: 'runtime-socket', mountPath: '/run/runtime.sock' },
    { name: 'runtime-storage', mountPath: '/host/storage', readOnly: true },
  ];
  const env = [
    { name: 'CONFIG_VOLUME_PATH', value: '/etc/config' },
    { name: 'CRI_SOCKET', value: '/run/runtime.sock' },
    { name: 'STORE_PATH', value: '/host/storage' },
    { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
  ];
  if (runtime.pullSecret !== '') {
    volumes.push(hostPath('pull-secret', runtime.pullSecret, 'File'));
    volumeMounts.push({ name: 'pull-secret', mountPath: '/run/pull-secret.json', readOnly: true });
    env.push({ name: 'PULL_SECRET_PATH', value: '/run/pull-secret.json' });
  }
  if (inputs.registryConfig !== '') env.push({ name: 'REGISTRY_CONFIG', value: inputs.registryConfig });
  return {
    ...object('batch/v1', 'Job', SpokeName.job),
    spec: {
      activeDeadlineSeconds: inputs.deadlineSeconds,
      backoffLimit: 0,
      template: {
        metadata: { annotations: MANAGEMENT_ANNOTATION },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: SpokeName.serviceAccount,
          priorityClassName: 'system-cluster-critical',
          // The node's own resolver: the puller must see registries as the runtime does.
          dnsPolicy: 'Default',
          volumes,
          containers: [
            {
              name: SpokeName.container,
              image: inputs.image,
              env,
              volumeMounts,
              terminationMessagePolicy: 'FallbackToLogsOnError',
              // Root, because only root may use the runtime's socket; nothing else of the host.
              securityContext: {
                runAsUser: 0,
                privileged: false,
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
                seccompProfile: { type: 'RuntimeDefault' },
              },
            },
          ],
        },
      },
    },
  };
}
