/** Builds our own job: it runs as root for the runtime's socket, without any other privilege. Pure. */
import { POD_AUDIENCE, SpokeName } from '@flotilla/api/ran';
import { mountOf, PULLER_SECURITY, type PullerVariables, SCC_ANNOTATION } from '@flotilla/rollout';
import type { SpokeManifest } from '../../../transports/port/workload.ts';
import { MANAGEMENT_ANNOTATION } from '../../templates.ts';
import type { WorkloadInputs } from './workload-inputs.ts';

/**
 * Memory covers the heap below, half as much again for download buffers, and Node itself. A CPU limit would slow pulls and keep the pod off the
 * management cores of a partitioned node.
 */
const RESOURCES = { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } };
const HEAP_MIB = 640;

/** Mount path of the spec and of the hub's certificate authorities. */
const CONFIG_PATH = '/etc/config';
/** Key of the certificate authorities in ConfigMap `pre-cache-spec`. */
export const CA_FILE = 'registry-ca.pem';

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
export function leastPrivilegeJobTemplate(inputs: WorkloadInputs): SpokeManifest['template'] {
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
export function nodesTemplate(inputs: WorkloadInputs): SpokeManifest['template'] {
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
