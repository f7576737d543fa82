/** Kinds by which a release bounds, admits and schedules. */
import { app, clusterWide, FIELDS_NAMESPACE, type FieldObject, named, of } from './field-object.ts';
import { boats } from './foreign.ts';

const ADMISSION = 'admissionregistration.k8s.io/v1';
const webhook = {
  name: 'one.fields.flotilla.io',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Ignore',
  matchPolicy: 'Equivalent',
  timeoutSeconds: 5,
  clientConfig: { service: { name: 's', namespace: FIELDS_NAMESPACE, path: '/x', port: 443 } },
  namespaceSelector: { matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['y'] }] },
  objectSelector: {},
  matchConditions: [{ name: 'a', expression: 'true' }],
  rules: [{ apiGroups: ['fields.flotilla.io'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'], scope: '*' }],
};
const moreWebhook = { webhooks: [{ clientConfig: { caBundle: 'eA==' } }] };
const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nothings'], scope: '*' }];

/** Definitions, admission, network, disruption, priorities, storage. */
export const policies: readonly FieldObject[] = [
  of('customresourcedefinitions', boats, { more: { spec: { conversion: {} } } }),
  of('validatingwebhookconfigurations', clusterWide(ADMISSION, 'ValidatingWebhookConfiguration', { webhooks: [webhook] }), {
    more: moreWebhook,
  }),
  of(
    'mutatingwebhookconfigurations',
    clusterWide(ADMISSION, 'MutatingWebhookConfiguration', { webhooks: [{ ...webhook, reinvocationPolicy: 'Never' }] }),
    {
      more: moreWebhook,
    },
  ),
  of(
    'mutatingwebhookconfigurations',
    {
      ...clusterWide(ADMISSION, 'MutatingWebhookConfiguration', { webhooks: [webhook] }),
      metadata: { name: 'fields-injected', annotations: { 'service.beta.openshift.io/inject-cabundle': 'true' } },
    },
    { more: moreWebhook, given: [['injected CA bundles', /^webhooks\[0\]\.clientConfig\.caBundle added/]] },
  ),
  of(
    'validatingadmissionpolicies',
    clusterWide(ADMISSION, 'ValidatingAdmissionPolicy', {
      spec: {
        failurePolicy: 'Ignore',
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConstraints: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {}, resourceRules },
        matchConditions: [{ name: 'a', expression: 'true' }],
        variables: [{ name: 'b', expression: '1' }],
        validations: [{ expression: 'true', message: 'x', reason: 'Forbidden' }],
      },
    }),
  ),
  of(
    'validatingadmissionpolicybindings',
    clusterWide(ADMISSION, 'ValidatingAdmissionPolicyBinding', {
      spec: {
        policyName: 'fields-validatingadmissionpolicy',
        validationActions: ['Deny'],
        paramRef: { name: 'x', namespace: FIELDS_NAMESPACE, parameterNotFoundAction: 'Allow' },
        matchResources: { resourceRules, namespaceSelector: {} },
      },
    }),
  ),
  of(
    'networkpolicies',
    named('networking.k8s.io/v1', 'NetworkPolicy', {
      spec: {
        podSelector: { matchLabels: app },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ from: [{ namespaceSelector: { matchLabels: { x: 'y' } } }], ports: [{ protocol: 'TCP', port: 8080, endPort: 8090 }] }],
        egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }, { podSelector: {} }] }, {}],
      },
    }),
  ),
  of(
    'networkpolicies',
    named('networking.k8s.io/v1', 'NetworkPolicy', { spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [] } }, 'deny-all'),
    {
      more: { spec: { egress: [{}] } },
    },
  ),
  of('poddisruptionbudgets', named('policy/v1', 'PodDisruptionBudget', { spec: { maxUnavailable: 0, selector: { matchLabels: app } } }), {
    more: { spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
  }),
  of(
    'horizontalpodautoscalers',
    named('autoscaling/v2', 'HorizontalPodAutoscaler', {
      spec: {
        minReplicas: 1,
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'elsewhere' },
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }],
      },
    }),
    { more: { spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } } } },
  ),
  of(
    'priorityclasses',
    clusterWide('scheduling.k8s.io/v1', 'PriorityClass', {
      value: 1000,
      globalDefault: false,
      description: 'x',
      preemptionPolicy: 'Never',
    }),
  ),
  of(
    'storageclasses',
    clusterWide('storage.k8s.io/v1', 'StorageClass', {
      provisioner: 'fields.flotilla.io',
      parameters: { a: '1' },
      reclaimPolicy: 'Delete',
      allowVolumeExpansion: false,
      volumeBindingMode: 'WaitForFirstConsumer',
    }),
    { more: { mountOptions: ['x'] }, given: [['top-level fields', /^mountOptions added/]] },
  ),
  of(
    'csidrivers',
    clusterWide(
      'storage.k8s.io/v1',
      'CSIDriver',
      { spec: { attachRequired: false, podInfoOnMount: true, fsGroupPolicy: 'None', volumeLifecycleModes: ['Persistent'] } },
      'fields.flotilla.io',
    ),
  ),
  of('ingressclasses', clusterWide('networking.k8s.io/v1', 'IngressClass', { spec: { controller: 'fields.flotilla.io/x' } }), {
    more: { spec: { parameters: { kind: 'Boat', name: 'x', scope: 'Cluster' } } },
  }),
  of('runtimeclasses', clusterWide('node.k8s.io/v1', 'RuntimeClass', { handler: 'x', overhead: { podFixed: { cpu: '1' } } }), {
    more: { scheduling: { nodeSelector: { x: 'y' } } },
    given: [['top-level fields', /^scheduling added/]],
  }),
  of(
    'flowschemas',
    clusterWide('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', {
      spec: {
        matchingPrecedence: 9000,
        distinguisherMethod: { type: 'ByUser' },
        priorityLevelConfiguration: { name: 'fields-prioritylevelconfiguration' },
        rules: [
          {
            subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: 'x', namespace: FIELDS_NAMESPACE } }],
            resourceRules: [{ apiGroups: ['*'], clusterScope: true, namespaces: ['*'], resources: ['*'], verbs: ['*'] }],
          },
        ],
      },
    }),
  ),
  of(
    'prioritylevelconfigurations',
    clusterWide('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', {
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 0,
          lendablePercent: 0,
          limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 6, queueLengthLimit: 50 } },
        },
      },
    }),
  ),
  of(
    'apiservices',
    clusterWide(
      'apiregistration.k8s.io/v1',
      'APIService',
      {
        spec: {
          group: 'aggregated.flotilla.io',
          version: 'v1',
          groupPriorityMinimum: 100,
          versionPriority: 10,
          insecureSkipTLSVerify: true,
          service: { name: 's', namespace: FIELDS_NAMESPACE, port: 443 },
        },
      },
      'v1.aggregated.flotilla.io',
    ),
  ),
];
