/** Objects of an inspection on a spoke: those of a pre-cache, less registries, in a namespace of their own. Pure. */
import { gzipSync } from 'node:zlib';
import { SccRole } from '@flotilla/api';
import { INSPECT_NAMESPACE, LAYER_LIST_KEY, type LayerList, SpokeName } from '@flotilla/api/ran';
import type { PullerVariables } from './puller-settings.ts';
import { mountOf, PULLER_SECURITY, SCC_ANNOTATION, type SpokeNode } from './spoke-node.ts';

/** An object on a spoke. */
export interface SpokeObject extends Record<string, unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Content of an inspection. */
interface InspectInputs {
  readonly node: SpokeNode;
  readonly list: LayerList;
  /** Image of the puller. */
  readonly image: string;
  /** Deadline of the Job, in seconds. */
  readonly seconds: number;
}

const namespace = INSPECT_NAMESPACE;
const RBAC = 'rbac.authorization.k8s.io';
const CONFIG_PATH = '/etc/config';
/** Mounts that reading a node's store takes; pull secret and certificates are left out. */
const MOUNTS: ReadonlySet<string> = new Set(['runtime-socket', 'runtime-storage', 'kubelet-config-path']);
const VARIABLES = ['CRI_SOCKET', 'STORE_PATH', 'KUBELET_CONFIG_PATH', 'IMAGE_GC_HIGH_THRESHOLD_PERCENT'] as const;
const MANAGEMENT = { 'target.workload.openshift.io/management': '{"effect":"PreferredDuringScheduling"}' };

/** Builds all objects, the namespace first, the Job last. */
export function inspectObjects(inputs: InspectInputs): SpokeObject[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: namespace,
        labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
        annotations: { 'workload.openshift.io/allowed': 'management' },
      },
    } as SpokeObject,
    ...accountOf(inputs.node),
    {
      ...named('v1', 'ConfigMap', SpokeName.specConfigMap),
      binaryData: { [LAYER_LIST_KEY]: gzipSync(JSON.stringify(inputs.list)).toString('base64') },
    },
    jobOf(inputs),
  ];
}

const named = (apiVersion: string, kind: string, name: string): SpokeObject => ({ apiVersion, kind, metadata: { name, namespace } });

/** The account that writes the answer; an agent of ours makes it itself. */
function accountOf({ hasAccount, hasSccs }: SpokeNode): SpokeObject[] {
  if (hasAccount) return [];
  const subjects = [{ kind: 'ServiceAccount', name: SpokeName.serviceAccount, namespace }];
  const bind = (name: string, kind: string, role: string): SpokeObject => ({
    ...named(`${RBAC}/v1`, 'RoleBinding', name),
    roleRef: { apiGroup: RBAC, kind, name: role },
    subjects,
  });
  return [
    named('v1', 'ServiceAccount', SpokeName.serviceAccount),
    {
      ...named(`${RBAC}/v1`, 'Role', SpokeName.role),
      rules: [{ apiGroups: ['batch'], resources: ['jobs/status'], verbs: ['patch'], resourceNames: [SpokeName.job] }],
    },
    bind(SpokeName.roleBinding, 'Role', SpokeName.role),
    ...(hasSccs ? [bind(SpokeName.sccRoleBinding, 'ClusterRole', SccRole.privileged)] : []),
  ];
}

function jobOf({ node, image, seconds }: InspectInputs): SpokeObject {
  const mounts = node.mounts.filter(({ name }) => MOUNTS.has(name));
  return {
    ...named('batch/v1', 'Job', SpokeName.job),
    spec: {
      activeDeadlineSeconds: seconds,
      backoffLimit: 0,
      template: {
        metadata: { annotations: { ...MANAGEMENT, ...(node.hasSccs && SCC_ANNOTATION) } },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: SpokeName.serviceAccount,
          dnsPolicy: 'Default',
          volumes: [
            { name: 'config', configMap: { name: SpokeName.specConfigMap, defaultMode: 420 } },
            ...mounts.map(({ name, path, type }) => ({ name, hostPath: { path, type } })),
          ],
          containers: [
            {
              name: SpokeName.container,
              image,
              env: [
                ...Object.entries(variablesOf(node)).map(([name, value]) => ({ name, value })),
                { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
                { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
              ],
              resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
              volumeMounts: [{ name: 'config', mountPath: CONFIG_PATH, readOnly: true }, ...mounts.map(mountOf)],
              terminationMessagePolicy: 'FallbackToLogsOnError',
              securityContext: PULLER_SECURITY,
            },
          ],
        },
      },
    },
  };
}

function variablesOf({ variables }: SpokeNode): PullerVariables {
  const given = VARIABLES.flatMap((name) => (variables[name] ? [[name, variables[name]] as const] : []));
  return { MODE: 'inspect', CONFIG_VOLUME_PATH: CONFIG_PATH, ...Object.fromEntries(given) };
}
