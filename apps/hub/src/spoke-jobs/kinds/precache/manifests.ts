/** Builds the objects of a pre-cache on a spoke, in the order of their creation (spec/talm 3.5, 3.6). Pure. */

import { SccRole } from '@flotilla/api';
import { PrecacheAction, precacheSpecData, SpokeName } from '@flotilla/api/ran';
import type { SpokeManifest } from '../../../spokes/port/workload.ts';
import { clusterAdminTemplate, namespaceTemplate } from '../../templates.ts';
import { CA_FILE, leastPrivilegeJobTemplate } from './least-privilege-job.ts';
import { talmJobTemplate } from './talm-job.ts';
import type { WorkloadInputs } from './workload-inputs.ts';

const namespace = SpokeName.namespace;

/** Builds all objects of a pre-cache. The namespace is first, the job last. */
export function precacheManifests(inputs: WorkloadInputs): SpokeManifest[] {
  return [
    { action: PrecacheAction.createNamespace, template: namespaceTemplate(namespace, inputs.upgradeUid) },
    ...account(inputs),
    {
      action: PrecacheAction.createSpecConfigMap,
      template: {
        ...object('v1', 'ConfigMap', SpokeName.specConfigMap),
        data: { ...precacheSpecData(inputs.spec), ...authorities(inputs) },
      },
    },
    { action: PrecacheAction.createJob, template: (inputs.profile === 'talm' ? talmJobTemplate : leastPrivilegeJobTemplate)(inputs) },
  ];
}

const object = (apiVersion: string, kind: string, name: string) => ({ apiVersion, kind, metadata: { name, namespace } });

/** Builds the puller's account and its rights. Every object costs the hub writes, so objects that the spoke's agent makes itself are left out. */
function account({ profile, node }: WorkloadInputs): SpokeManifest[] {
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
  const rules = [{ apiGroups: ['batch'], resources: ['jobs/status'], verbs: ['patch'], resourceNames: [SpokeName.job] }];
  return [
    serviceAccount,
    {
      action: PrecacheAction.createRole,
      afterJob: true,
      template: { ...object('rbac.authorization.k8s.io/v1', 'Role', SpokeName.role), rules },
    },
    { action: PrecacheAction.createRoleBinding, afterJob: true, template: binding(SpokeName.roleBinding, 'Role', SpokeName.role) },
    // The binding precedes the job, because no pod is admitted without it. It lies in this namespace, so it ends with it.
    ...(node.hasSccs
      ? [{ action: PrecacheAction.createSccRoleBinding, template: binding(SpokeName.sccRoleBinding, 'ClusterRole', SccRole.privileged) }]
      : []),
  ];
}

const binding = (name: string, kind: 'Role' | 'ClusterRole', role: string): SpokeManifest['template'] => ({
  ...object('rbac.authorization.k8s.io/v1', 'RoleBinding', name),
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
  subjects: [{ kind: 'ServiceAccount', name: SpokeName.serviceAccount, namespace }],
});

/** The reference's workload knows no such key. */
const authorities = ({ profile, caBundle }: WorkloadInputs): Record<string, string> =>
  profile === 'talm' || caBundle === '' ? {} : { [CA_FILE]: caBundle };
