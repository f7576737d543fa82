/** Builds the objects of a pre-cache on a spoke, in the order of their creation (spec/talm 3.5, 3.6). Pure. */
import { Annotation, perObject, SccRole } from '@flotilla/api';
import { BANDWIDTH_KEY, POD_AUDIENCE, PrecacheAction, type PrecachingSpec, precacheSpecData, SpokeName } from '@flotilla/api/ran';
import { mountOf, PULLER_SECURITY, type PullerVariables, SCC_ANNOTATION } from '@flotilla/rollout';
import { templateDigest } from '../../../transports/actions/hub-objects.ts';
import { capMark } from '../../../transports/port/cap.ts';
import type { SpokeManifest } from '../../../transports/port/port.ts';
import { clusterAdminTemplate, MANAGEMENT_ANNOTATION, namespaceTemplate } from '../../templates.ts';
import type { WorkloadInputs } from './inputs.ts';
import { talmJobTemplate } from './talm-job.ts';

const namespace = SpokeName.namespace;
const RBAC = 'rbac.authorization.k8s.io';

/** Builds all objects of a pre-cache. The namespace is first; the job is the last that it needs itself. */
export function precacheManifests(inputs: WorkloadInputs): SpokeManifest[] {
  return [
    { action: PrecacheAction.createNamespace, template: namespaceTemplate(namespace, inputs.upgradeUid) },
    ...account(inputs),
    {
      action: PrecacheAction.createSpecConfigMap,
      marks: capMark(inputs.bytesPerSecond),
      template: {
        ...object('v1', 'ConfigMap', SpokeName.specConfigMap),
        data: { ...precacheSpecData(inputs.spec), ...authorities(inputs), ...capData(inputs) },
      },
    },
    { action: PrecacheAction.createJob, template: (inputs.profile === 'talm' ? talmJobTemplate : leastPrivilegeJobTemplate)(inputs) },
    ...nodes(inputs),
  ];
}

/** Builds the pullers of the other nodes and their account. The Job needs none of them. */
function nodes(inputs: WorkloadInputs): SpokeManifest[] {
  if (!inputs.nodes) return [];
  const { nodeAccount, job } = SpokeName;
  const rules = [{ apiGroups: ['batch'], resources: ['jobs'], verbs: ['get'], resourceNames: [job] }];
  const account = [
    { action: PrecacheAction.createNodeAccount, template: object('v1', 'ServiceAccount', nodeAccount) },
    { action: PrecacheAction.createNodeRole, template: { ...object(`${RBAC}/v1`, 'Role', nodeAccount), rules } },
    {
      action: PrecacheAction.createNodeRoleBinding,
      template: binding(nodeAccount, { kind: 'Role', name: nodeAccount, account: nodeAccount }),
    },
    ...sccBinding(inputs, { name: SpokeName.nodeSccRoleBinding, action: PrecacheAction.createNodeSccRoleBinding, account: nodeAccount }),
  ];
  const pods = { action: PrecacheAction.createNodes, template: nodesTemplate(inputs) };
  return [...(inputs.node.hasAccount ? [] : account), pods].map((manifest) => ({ ...manifest, afterJob: true }));
}

/** The binding precedes the pods, because none is admitted without it. It lies in this namespace, so it ends with it. */
const sccBinding = (
  { node }: WorkloadInputs,
  { name, action, account }: { readonly name: string; readonly action: string; readonly account: string },
): SpokeManifest[] =>
  node.hasSccs ? [{ action, template: binding(name, { kind: 'ClusterRole', name: SccRole.privileged, account }) }] : [];

const object = (apiVersion: string, kind: string, name: string) => ({ apiVersion, kind, metadata: { name, namespace } });

/** Builds the puller's account and its rights. Every object costs the hub writes, so objects that the spoke's agent makes itself are left out. */
function account(inputs: WorkloadInputs): SpokeManifest[] {
  const { profile, node } = inputs;
  const serviceAccount = {
    action: PrecacheAction.createServiceAccount,
    template: object('v1', 'ServiceAccount', SpokeName.serviceAccount),
  };
  if (profile === 'talm')
    return [
      serviceAccount,
      { action: PrecacheAction.createClusterRoleBinding, template: clusterAdminTemplate(SpokeName, SpokeName.serviceAccount) },
    ];
  if (node.hasAccount) return [];
  // A patch of the status may change metadata but never the spec: the puller can report, but not move its Job.
  const rules = [
    { apiGroups: ['batch'], resources: ['jobs/status'], verbs: ['patch'], resourceNames: [SpokeName.job] },
    // Its cap of now, which a mounted file shows after a minute and more. An agent of before may not grant it, and has the puller wait for the file.
    ...(node.hasStockAgent
      ? [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: [SpokeName.specConfigMap] }]
      : []),
    // Gives the number of nodes where the account may not list them.
    ...(inputs.nodes ? [{ apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['get'], resourceNames: [SpokeName.nodes] }] : []),
  ];
  return [
    serviceAccount,
    {
      action: PrecacheAction.createRole,
      afterJob: true,
      template: { ...object(`${RBAC}/v1`, 'Role', SpokeName.role), rules },
    },
    {
      action: PrecacheAction.createRoleBinding,
      afterJob: true,
      template: binding(SpokeName.roleBinding, { kind: 'Role', name: SpokeName.role, account: SpokeName.serviceAccount }),
    },
    ...sccBinding(inputs, {
      name: SpokeName.sccRoleBinding,
      action: PrecacheAction.createSccRoleBinding,
      account: SpokeName.serviceAccount,
    }),
  ];
}

const binding = (
  name: string,
  role: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string; readonly account: string },
): SpokeManifest['template'] => ({
  ...object(`${RBAC}/v1`, 'RoleBinding', name),
  roleRef: { apiGroup: RBAC, kind: role.kind, name: role.name },
  subjects: [{ kind: 'ServiceAccount', name: role.account, namespace }],
});

const capData = ({ bytesPerSecond }: WorkloadInputs): Record<string, string> =>
  bytesPerSecond === undefined ? {} : { [BANDWIDTH_KEY]: String(bytesPerSecond) };

/** The reference's workload knows no such key. */
const authorities = ({ profile, caBundle }: WorkloadInputs): Record<string, string> =>
  profile === 'talm' || caBundle === '' ? {} : { [CA_FILE]: caBundle };

/**
 * Computes the digest of a spec's effect on the puller. It ignores the order of lists and empty fields, so a hub that knows another field starts
 * nothing over. Every reconcile of every spoke needs it.
 */
export const specDigest = perObject((spec: PrecachingSpec): string => {
  const filled = Object.entries(precacheSpecData(spec)).filter(([, lines]) => lines !== '');
  return templateDigest(filled.map(([key, lines]) => [key, lines.split('\n').toSorted()]));
});

/** Annotates namespace and job with the digest of their spec. */
export function markWithDigest(manifests: readonly SpokeManifest[], digest: string): SpokeManifest[] {
  return manifests.map((manifest) => {
    const { template } = manifest;
    if (template.kind !== 'Namespace' && template.kind !== 'Job') return manifest;
    const metadata = Object(template.metadata);
    const annotations = { ...metadata.annotations, [Annotation.specDigest]: digest };
    return { ...manifest, template: { ...template, metadata: { ...metadata, annotations } } };
  });
}

/**
 * Memory covers the heap below, half as much again for download buffers, and Node itself. A CPU limit would slow pulls and keep the pod off the
 * management cores of a partitioned node.
 */
const RESOURCES = { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } };
const HEAP_MIB = 640;

/** Mount path of the spec and of the hub's certificate authorities. */
const CONFIG_PATH = '/etc/config';
/** Key of the certificate authorities in ConfigMap `pre-cache-spec`. */
const CA_FILE = 'registry-ca.pem';

/** Folder of the node for records of what was pulled: the only writable one, and nobody else's. */
const RECORD = { name: 'record', path: '/var/lib/flotilla', mountPath: '/host/var/lib/flotilla' };

/** Volume with the token by which a node's puller shows the lead who it is. */
const POD_TOKEN = 'pod-token';

/** Exit codes that no puller gives: a kill or a container that is gone, and one that the runtime lost sight of. Both follow a reboot. */
const LOST_CODES = [137, 255];

/** Lets the Job go on after a reboot or a drain of its node: the run resumes where it was, until the deadline. A verdict still ends it. */
const RESUMED = {
  rules: [
    { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    { action: 'Ignore', onExitCodes: { operator: 'In', values: LOST_CODES } },
  ],
};

/** Builds Job `pre-cache` with the puller beside the node's runtime. */
function leastPrivilegeJobTemplate(inputs: WorkloadInputs): SpokeManifest['template'] {
  const { nodes } = inputs;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: SpokeName.job, namespace: SpokeName.namespace },
    spec: {
      activeDeadlineSeconds: inputs.deadlineSeconds,
      backoffLimit: 0,
      // An agent of before refuses both this policy and a Job with other nodes.
      ...(nodes && { podFailurePolicy: RESUMED }),
      template: {
        metadata: { annotations: podAnnotations(inputs) },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: SpokeName.serviceAccount,
          ...podSpec(inputs),
          containers: [container(inputs, nodes ? { NODES: JSON.stringify(nodes) } : {})],
        },
      },
    },
  };
}

/** Builds DaemonSet `pre-cache-nodes`: the same puller on the other nodes, under an account that may only read its lead's Job. */
function nodesTemplate(inputs: WorkloadInputs): SpokeManifest['template'] {
  const labels = { app: SpokeName.nodes };
  const { volumes, ...spec } = podSpec(inputs);
  const token = { serviceAccountToken: { audience: POD_AUDIENCE, expirationSeconds: 3_600, path: 'token' } };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: SpokeName.nodes, namespace: SpokeName.namespace },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: podAnnotations(inputs) },
        spec: {
          serviceAccountName: SpokeName.nodeAccount,
          ...spec,
          volumes: [...volumes, { name: POD_TOKEN, projected: { sources: [token], defaultMode: 420 } }],
          containers: [
            container(inputs, { FOLLOW: 'on' }, [{ name: POD_TOKEN, mountPath: '/var/run/secrets/flotilla.io', readOnly: true }]),
          ],
        },
      },
    },
  };
}

const podAnnotations = ({ node }: WorkloadInputs) => ({ ...MANAGEMENT_ANNOTATION, ...(node.hasSccs && SCC_ANNOTATION) });

/** Part of a puller's pod that Job and DaemonSet share. */
function podSpec({ node, nodes, keepsRecord }: WorkloadInputs) {
  return {
    priorityClassName: 'system-cluster-critical',
    // The puller must resolve registries as the node's runtime does.
    dnsPolicy: 'Default',
    ...(nodes && Object.keys(nodes.selector).length > 0 && { nodeSelector: nodes.selector }),
    ...(nodes && nodes.tolerations.length > 0 && { tolerations: nodes.tolerations }),
    volumes: [
      { name: 'config', configMap: { name: SpokeName.specConfigMap, defaultMode: 420 } },
      ...node.mounts.map(({ name, path, type }) => ({ name, hostPath: { path, type } })),
      ...(keepsRecord ? [{ name: RECORD.name, hostPath: { path: RECORD.path, type: 'DirectoryOrCreate' } }] : []),
    ],
  };
}

/** Merges the puller's variables; an empty one of the node removes the value for all spokes. */
function variablesOf({ node, variables, caBundle, keepsRecord }: WorkloadInputs, role: PullerVariables): { name: string; value: string }[] {
  const authorities = [caBundle && `${CONFIG_PATH}/${CA_FILE}`, node.variables.REGISTRY_CA].filter(Boolean);
  const all: PullerVariables = {
    CONFIG_VOLUME_PATH: CONFIG_PATH,
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
    ...variables,
    ...node.variables,
    REGISTRY_CA: authorities.join(':'),
    ...(keepsRecord && { RECORD_DIR: `${RECORD.mountPath}/precache` }),
    ...role,
  };
  return Object.entries(all).flatMap(([name, value]) => (value === '' ? [] : [{ name, value }]));
}

function container(inputs: WorkloadInputs, role: PullerVariables, mounts: readonly object[] = []): Record<string, unknown> {
  const { node, nodes, image } = inputs;
  return {
    name: SpokeName.container,
    image,
    env: [
      ...variablesOf(inputs, role),
      { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      ...(nodes ? [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }] : []),
    ],
    resources: RESOURCES,
    volumeMounts: [
      { name: 'config', mountPath: CONFIG_PATH, readOnly: true },
      ...node.mounts.map(mountOf),
      ...(inputs.keepsRecord ? [{ name: RECORD.name, mountPath: RECORD.mountPath }] : []),
      ...mounts,
    ],
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: PULLER_SECURITY,
  };
}
