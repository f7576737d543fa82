/** Builds our own job: it runs as root for the runtime's socket, without any other privilege. Pure. */
import { SpokeName } from '@flotilla/api/ran';
import { mountOf, PULLER_SECURITY, type PullerVariables, SCC_ANNOTATION } from '@flotilla/rollout';
import type { SpokeManifest } from '../../../spokes/port/workload.ts';
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

/** Builds Job `pre-cache` with the puller beside the node's runtime. */
export function leastPrivilegeJobTemplate(inputs: WorkloadInputs): SpokeManifest['template'] {
  const { node } = inputs;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: SpokeName.job, namespace: SpokeName.namespace },
    spec: {
      activeDeadlineSeconds: inputs.deadlineSeconds,
      backoffLimit: 0,
      template: {
        metadata: { annotations: { ...MANAGEMENT_ANNOTATION, ...(node.hasSccs && SCC_ANNOTATION) } },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: SpokeName.serviceAccount,
          priorityClassName: 'system-cluster-critical',
          // The puller must resolve registries as the node's runtime does.
          dnsPolicy: 'Default',
          volumes: [
            { name: 'config', configMap: { name: SpokeName.specConfigMap, defaultMode: 420 } },
            ...node.mounts.map(({ name, path, type }) => ({ name, hostPath: { path, type } })),
            ...(inputs.keepsRecord ? [{ name: RECORD.name, hostPath: { path: RECORD.path, type: 'DirectoryOrCreate' } }] : []),
          ],
          containers: [container(inputs)],
        },
      },
    },
  };
}

/** Merges the puller's variables; an empty one of the node removes the value for all spokes. */
function variablesOf({ node, variables, caBundle, keepsRecord }: WorkloadInputs): { name: string; value: string }[] {
  const authorities = [caBundle && `${CONFIG_PATH}/${CA_FILE}`, node.variables.REGISTRY_CA].filter(Boolean);
  const all: PullerVariables = {
    CONFIG_VOLUME_PATH: CONFIG_PATH,
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
    ...variables,
    ...node.variables,
    REGISTRY_CA: authorities.join(':'),
    ...(keepsRecord && { RECORD_DIR: `${RECORD.mountPath}/precache` }),
  };
  return Object.entries(all).flatMap(([name, value]) => (value === '' ? [] : [{ name, value }]));
}

function container(inputs: WorkloadInputs): Record<string, unknown> {
  const { node, image } = inputs;
  return {
    name: SpokeName.container,
    image,
    env: [
      ...variablesOf(inputs),
      { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    ],
    resources: RESOURCES,
    volumeMounts: [
      { name: 'config', mountPath: CONFIG_PATH, readOnly: true },
      ...node.mounts.map(mountOf),
      ...(inputs.keepsRecord ? [{ name: RECORD.name, mountPath: RECORD.mountPath }] : []),
    ],
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: PULLER_SECURITY,
  };
}
