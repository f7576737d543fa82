/** Kinds that a server has by definitions alone. */
import { buildOpenDefinition } from '@flotilla/api/testing';
import { app, clusterWide, FIELDS_NAMESPACE, type FieldObject, META, named, of } from './field-object.ts';

/** Definitions of the release itself, edited like anything else; nothing is made of them. */
export const boats = {
  ...buildOpenDefinition({ group: 'fields.flotilla.io', kind: 'Boat', plural: 'boats' }),
  metadata: { name: 'boats.fields.flotilla.io', ...META },
  spec: {
    group: 'fields.flotilla.io',
    names: { kind: 'Boat', plural: 'boats', singular: 'boat', listKind: 'BoatList', shortNames: ['bt'], categories: ['fields'] },
    scope: 'Namespaced',
    preserveUnknownFields: false,
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        deprecated: false,
        additionalPrinterColumns: [{ name: 'Sails', type: 'integer', jsonPath: '.spec.sails', description: 'x', priority: 0 }],
        subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  sails: { type: 'integer', minimum: 0, default: 0, description: '' },
                  flag: { type: 'boolean', default: false },
                  crew: { type: 'object', default: {}, 'x-kubernetes-preserve-unknown-fields': true },
                  names: { type: 'array', items: { type: 'string', minLength: 0 }, 'x-kubernetes-list-type': 'set' },
                  replicas: { type: 'integer', nullable: true },
                },
                'x-kubernetes-validations': [{ rule: 'true', message: 'x' }],
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
    conversion: { strategy: 'None' },
  },
};

/** Kinds that no server has by itself: these are served before the release comes. */
const FOREIGN = [
  ['security.openshift.io', 'SecurityContextConstraints', 'securitycontextconstraints', 'Cluster'],
  ['image.openshift.io', 'ImageStream', 'imagestreams', 'Namespaced'],
  ['operators.coreos.com', 'OperatorGroup', 'operatorgroups', 'Namespaced'],
  ['monitoring.coreos.com', 'ServiceMonitor', 'servicemonitors', 'Namespaced'],
  ['monitoring.coreos.com', 'PrometheusRule', 'prometheusrules', 'Namespaced'],
  ['cloudcredential.openshift.io', 'CredentialsRequest', 'credentialsrequests', 'Namespaced'],
  ['console.openshift.io', 'ConsoleCLIDownload', 'consoleclidownloads', 'Cluster'],
  ['operator.openshift.io', 'Console', 'consoles', 'Cluster'],
  ['machineconfiguration.openshift.io', 'MachineConfigPool', 'machineconfigpools', 'Cluster'],
] as const;

/** Their definitions, which are no part of the release. */
export const foreignDefinitions = (): object[] =>
  FOREIGN.map(([group, kind, plural, scope]) => buildOpenDefinition({ group, kind, plural, scope }));

/** Objects of kinds that the release does not define itself. */
export const foreign: readonly FieldObject[] = [
  of(
    'securitycontextconstraints',
    clusterWide('security.openshift.io/v1', 'SecurityContextConstraints', {
      allowPrivilegedContainer: false,
      allowHostNetwork: true,
      allowPrivilegeEscalation: false,
      defaultAddCapabilities: null,
      requiredDropCapabilities: ['ALL'],
      allowedCapabilities: [],
      priority: null,
      readOnlyRootFilesystem: false,
      runAsUser: { type: 'MustRunAsRange' },
      seLinuxContext: { type: 'MustRunAs' },
      fsGroup: { type: 'RunAsAny', ranges: [{ min: 0, max: 1 }] },
      supplementalGroups: { type: 'RunAsAny' },
      users: ['system:admin'],
      groups: [],
      volumes: ['configMap', 'secret'],
    }),
    { more: { allowHostPID: true, seccompProfiles: ['*'] } },
  ),
  of(
    'imagestreams',
    named('image.openshift.io/v1', 'ImageStream', {
      spec: {
        lookupPolicy: { local: false },
        tags: [
          {
            name: 'a',
            from: { kind: 'DockerImage', name: 'i:1' },
            importPolicy: { scheduled: true, importMode: 'PreserveOriginal' },
            reference: false,
          },
        ],
      },
    }),
    {
      more: { spec: { dockerImageRepository: 'x', tags: [{ annotations: { a: 'b' }, referencePolicy: { type: 'Local' } }] } },
      given: [
        ['merge rules of a kind', /^spec (extended)|^spec\.dockerImageRepository added|^spec\.tags extended/],
        [
          'merge rules of a kind',
          /^spec\.tags\[0\](\.annotations added|\.referencePolicy added|\.reference\b.*| extended|\.importPolicy extended)/,
        ],
        // a tag of another name is a further one
        ['merge rules of a kind', /^spec\.tags\[0\]( \{\}|\.name\b)/],
      ],
    },
  ),
  of(
    'operatorgroups',
    named('operators.coreos.com/v1', 'OperatorGroup', {
      spec: { selector: { matchLabels: app }, targetNamespaces: [FIELDS_NAMESPACE], staticProvidedAPIs: false },
    }),
    {
      more: { spec: { serviceAccountName: 'x', upgradeStrategy: 'TechPreviewUnsafeFailForward' } },
      given: [['merge rules of a kind', /^spec (extended)|^spec\.(serviceAccountName|upgradeStrategy) added/]],
    },
  ),
  of(
    'servicemonitors',
    named('monitoring.coreos.com/v1', 'ServiceMonitor', {
      spec: {
        selector: {},
        namespaceSelector: { matchNames: ['x'] },
        jobLabel: 'x',
        endpoints: [
          {
            port: 'metrics',
            scheme: 'https',
            interval: '30s',
            honorLabels: false,
            tlsConfig: { insecureSkipVerify: false, serverName: 'x', caFile: '/x' },
            metricRelabelings: [{ action: 'drop', regex: '', sourceLabels: ['__name__'] }],
          },
        ],
      },
    }),
  ),
  of(
    'prometheusrules',
    named('monitoring.coreos.com/v1', 'PrometheusRule', {
      spec: {
        groups: [
          {
            name: 'a',
            rules: [
              { alert: 'A', expr: '1', for: '5m', labels: { severity: 'info' }, annotations: { summary: '' } },
              { record: 'b', expr: '0' },
            ],
          },
        ],
      },
    }),
  ),
  of(
    'credentialsrequests',
    named('cloudcredential.openshift.io/v1', 'CredentialsRequest', {
      spec: {
        secretRef: { name: 'x', namespace: FIELDS_NAMESPACE },
        serviceAccountNames: ['x'],
        providerSpec: {
          kind: 'X',
          apiVersion: 'v1',
          skipServiceCheck: false,
          statementEntries: [{ effect: 'Allow', action: ['a'], resource: '*', policyCondition: {} }],
        },
      },
    }),
  ),
  of(
    'consoleclidownloads',
    clusterWide('console.openshift.io/v1', 'ConsoleCLIDownload', {
      spec: { displayName: 'x', description: '', links: [{ href: 'https://x', text: 'x' }] },
    }),
  ),
  of(
    'consoles',
    clusterWide('operator.openshift.io/v1', 'Console', {
      spec: {
        managementState: 'Managed',
        customization: { perspectives: [{ id: 'x', visibility: { state: 'Disabled' } }] },
        unsupportedConfigOverrides: null,
      },
    }),
  ),
  of(
    'machineconfigpools',
    clusterWide('machineconfiguration.openshift.io/v1', 'MachineConfigPool', {
      spec: {
        paused: false,
        maxUnavailable: 0,
        machineConfigSelector: { matchLabels: { x: 'y' } },
        nodeSelector: { matchLabels: { 'node-role.kubernetes.io/x': '' } },
      },
    }),
  ),
];
