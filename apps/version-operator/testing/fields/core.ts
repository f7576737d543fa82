/** Kinds of the core and of rights. */
import { app, clusterWide, FIELDS_NAMESPACE, type FieldObject, named, of } from './field-object.ts';

const RBAC = 'rbac.authorization.k8s.io/v1';
const rules = [
  { apiGroups: ['', 'apps'], resources: ['pods'], resourceNames: ['one'], verbs: ['get', 'list'] },
  { apiGroups: ['fields.flotilla.io'], resources: ['boats'], verbs: ['*'] },
];
const subjects = [
  { kind: 'ServiceAccount', name: 'serviceaccount', namespace: FIELDS_NAMESPACE },
  { kind: 'Group', name: 'system:fields', apiGroup: 'rbac.authorization.k8s.io' },
];
const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });

/** Accounts, data, services, bounds and rights. */
export const core: readonly FieldObject[] = [
  of('serviceaccounts', named('v1', 'ServiceAccount'), {
    more: { automountServiceAccountToken: false, imagePullSecrets: [{ name: 'x' }], secrets: [{ name: 'x' }] },
    given: [['merge rules of a kind', /^(imagePullSecrets|secrets) added/]],
  }),
  of('configmaps', named('v1', 'ConfigMap', { data: { a: '1', empty: '' }, binaryData: { b: 'eA==' } }), {
    given: [['merge rules of a kind', /^data extended/]],
  }),
  of('secrets', named('v1', 'Secret', { type: 'Opaque', data: { a: 'eA==', empty: '' } })),
  of(
    'services',
    named('v1', 'Service', {
      spec: {
        clusterIP: 'None',
        type: 'ClusterIP',
        sessionAffinity: 'None',
        publishNotReadyAddresses: false,
        selector: app,
        ports: [
          { name: 'https', port: 443, targetPort: 'https', protocol: 'TCP' },
          { name: 'http', port: 80, targetPort: 8080 },
        ],
      },
    }),
    {
      given: [
        ['merge rules of a kind', /^spec\.(clusterIP|sessionAffinity|publishNotReadyAddresses)\b/],
        // the release's ports are there again, in another order
        ['merge rules of a kind', /^spec\.ports\[\d\]\.name\b/],
      ],
    },
  ),
  of(
    'resourcequotas',
    named('v1', 'ResourceQuota', { spec: { hard: { pods: '1000', 'requests.cpu': '100' }, scopes: ['NotTerminating'] } }),
  ),
  of(
    'limitranges',
    named('v1', 'LimitRange', { spec: { limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '100m' } }] } }),
  ),
  of('roles', named(RBAC, 'Role', { rules })),
  of('rolebindings', named(RBAC, 'RoleBinding', { subjects, roleRef: roleRef('Role', 'role') })),
  of('clusterroles', clusterWide(RBAC, 'ClusterRole', { rules: [...rules, { nonResourceURLs: ['/metrics'], verbs: ['get'] }] })),
  of(
    'clusterroles',
    clusterWide(RBAC, 'ClusterRole', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { x: 'y' } }] } }, 'fields-aggregated'),
    { more: { rules: [] }, given: [['merge rules of a kind', /^rules\b/]] },
  ),
  of('clusterrolebindings', clusterWide(RBAC, 'ClusterRoleBinding', { subjects, roleRef: roleRef('ClusterRole', 'fields-clusterrole') })),
];
