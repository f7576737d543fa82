/** Builds the objects of a pre-cache on a spoke, in the order of their creation (spec/talm 3.5, 3.6). Pure. */

import { SccRole } from '@flotilla/api';
import { PrecacheAction, precacheSpecData, SpokeName } from '@flotilla/api/ran';
import type { SpokeManifest } from '../../../transports/port/workload.ts';
import { clusterAdminTemplate, namespaceTemplate } from '../../templates.ts';
import { CA_FILE, leastPrivilegeJobTemplate, nodesTemplate } from './least-privilege-job.ts';
import { talmJobTemplate } from './talm-job.ts';
import type { WorkloadInputs } from './workload-inputs.ts';

const namespace = SpokeName.namespace;
const RBAC = 'rbac.authorization.k8s.io';

/** Builds all objects of a pre-cache. The namespace is first; the job is the last that it needs itself. */
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

/** The reference's workload knows no such key. */
const authorities = ({ profile, caBundle }: WorkloadInputs): Record<string, string> =>
  profile === 'talm' || caBundle === '' ? {} : { [CA_FILE]: caBundle };
