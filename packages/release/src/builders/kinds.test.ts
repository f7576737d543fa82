import { describe, expect, it, test } from 'vitest';
import { type Json, objectAt } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { generic } from './generic.ts';
import {
  clusterRole,
  configMap,
  imageStream,
  namespace,
  operatorGroup,
  role,
  roleBinding,
  securityContextConstraints,
  service,
  serviceAccount,
  validatingWebhookConfiguration,
} from './simple-kinds.ts';

/** True when a server may have made the live object of the built one. */
const seems = ({ merge, resembles }: Builder, live: Json, built: Json): boolean => resembles(live, merge(live, built));

interface Row {
  name: string;
  builder: Builder;
  built: Json;
  live: Json;
  differs: boolean;
}
const apiGroup = 'rbac.authorization.k8s.io';
const injected = { annotations: { 'service.beta.openshift.io/inject-cabundle': 'true' } };
const webhook = {
  name: 'w',
  clientConfig: { service: { name: 's', namespace: 'n' } },
  rules: [{ operations: ['CREATE'] }],
  sideEffects: 'None',
};
const storedWebhook = {
  ...webhook,
  clientConfig: { caBundle: 'ca', service: { name: 's', namespace: 'n', port: 443 } },
  rules: [{ operations: ['CREATE'], scope: '*' }],
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  timeoutSeconds: 10,
};
const schema = (extra: Json = {}) => ({ openAPIV3Schema: { type: 'object', properties: { a: { type: 'string', ...extra } } } });
const definition = {
  spec: {
    group: 'g',
    names: { kind: 'Boat', plural: 'boats' },
    scope: 'Cluster',
    versions: [{ name: 'v1', served: true, storage: true, schema: schema() }],
  },
};
const storedDefinition = {
  spec: {
    ...definition.spec,
    names: { kind: 'Boat', plural: 'boats', singular: 'boat', listKind: 'BoatList' },
    conversion: { strategy: 'None' },
  },
};

test.each<Row>([
  {
    name: 'a ConfigMap with a further entry',
    builder: configMap,
    built: { data: { a: '1' } },
    live: { data: { a: '1', b: '2' } },
    differs: false,
  },
  { name: 'a ConfigMap with another value', builder: configMap, built: { data: { a: '1' } }, live: { data: { a: '2' } }, differs: true },
  { name: 'an empty ConfigMap', builder: configMap, built: { data: {} }, live: {}, differs: false },
  {
    name: 'a Namespace with a further label',
    builder: namespace,
    built: { metadata: { labels: { a: '1' } } },
    live: { metadata: { labels: { a: '1', b: '2' } }, spec: { finalizers: ['kubernetes'] } },
    differs: false,
  },
  {
    name: 'a Namespace without its annotation',
    builder: namespace,
    built: { metadata: { annotations: { a: '1' } } },
    live: { metadata: {} },
    differs: true,
  },
  {
    name: 'a ServiceAccount with its token',
    builder: serviceAccount,
    built: {},
    live: { secrets: [{ name: 't' }], imagePullSecrets: [{ name: 'p' }] },
    differs: false,
  },
  {
    name: 'a ServiceAccount that mounts none',
    builder: serviceAccount,
    built: {},
    live: { automountServiceAccountToken: false },
    differs: true,
  },
  {
    name: 'a Service as the server keeps it',
    builder: service,
    built: { spec: { ports: [{ name: 'a', port: 80 }], selector: { a: '1' } } },
    live: {
      spec: {
        ports: [{ name: 'a', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 30000 }],
        selector: { a: '1' },
        type: 'ClusterIP',
        clusterIP: '10.0.0.1',
        sessionAffinity: 'None',
      },
    },
    differs: false,
  },
  {
    name: 'a Service with a further port',
    builder: service,
    built: { spec: { ports: [{ name: 'a', port: 80 }] } },
    live: {
      spec: {
        type: 'ClusterIP',
        ports: [
          { name: 'a', port: 80, protocol: 'TCP', targetPort: 80 },
          { name: 'b', port: 81 },
        ],
      },
    },
    differs: true,
  },
  { name: 'a Service of another type', builder: service, built: { spec: {} }, live: { spec: { type: 'NodePort' } }, differs: true },
  { name: 'a Role without rules', builder: role, built: { rules: [] }, live: {}, differs: false },
  {
    name: 'a Role with another rule',
    builder: role,
    built: { rules: [{ verbs: ['get'] }] },
    live: { rules: [{ verbs: ['get', 'list'] }] },
    differs: true,
  },
  {
    name: 'an aggregated ClusterRole',
    builder: clusterRole,
    built: { aggregationRule: { clusterRoleSelectors: [{}] }, rules: [] },
    live: { aggregationRule: { clusterRoleSelectors: [{}] }, rules: [{ verbs: ['*'] }] },
    differs: false,
  },
  {
    name: 'a ClusterRole with another rule',
    builder: clusterRole,
    built: { rules: [{ verbs: ['get'] }] },
    live: { rules: [] },
    differs: true,
  },
  {
    name: 'a RoleBinding as the server keeps it',
    builder: roleBinding,
    built: {
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'Group', name: 'g' },
        { kind: 'ServiceAccount', name: 's' },
      ],
    },
    live: {
      roleRef: { kind: 'Role', name: 'r', apiGroup },
      subjects: [
        { kind: 'Group', name: 'g', apiGroup },
        { kind: 'ServiceAccount', name: 's' },
      ],
    },
    differs: false,
  },
  {
    name: 'a RoleBinding for another',
    builder: roleBinding,
    built: { roleRef: { kind: 'Role', name: 'r' }, subjects: [] },
    live: { roleRef: { kind: 'Role', name: 'r', apiGroup }, subjects: [{ kind: 'User', name: 'u', apiGroup }] },
    differs: true,
  },
  {
    name: 'an ImageStream with a further tag',
    builder: imageStream,
    built: { spec: { tags: [{ name: 'a', from: { kind: 'DockerImage', name: 'i' } }] } },
    live: {
      spec: {
        tags: [
          {
            name: 'a',
            generation: 1,
            from: { kind: 'DockerImage', name: 'i' },
            importPolicy: { importMode: 'Legacy' },
            referencePolicy: { type: 'Source' },
          },
          { name: 'b' },
        ],
      },
    },
    differs: false,
  },
  {
    name: 'an ImageStream with a tag of another image',
    builder: imageStream,
    built: { spec: { tags: [{ name: 'a', from: { name: 'i' } }] } },
    live: { spec: { tags: [{ name: 'a', from: { name: 'j' } }] } },
    differs: true,
  },
  {
    name: 'an OperatorGroup as the server keeps it',
    builder: operatorGroup,
    built: { spec: { targetNamespaces: ['a'] } },
    live: { spec: { targetNamespaces: ['a'], upgradeStrategy: 'Default' } },
    differs: false,
  },
  {
    name: 'an OperatorGroup for another namespace',
    builder: operatorGroup,
    built: { spec: { targetNamespaces: ['a'] } },
    live: { spec: { targetNamespaces: ['b'], upgradeStrategy: 'Default' } },
    differs: true,
  },
  {
    name: 'constraints as the server keeps them',
    builder: securityContextConstraints,
    built: securityContextConstraints.build({ users: [] }, {}),
    live: { ...securityContextConstraints.build({}, {}), userNamespaceLevel: 'AllowHostLevel' },
    differs: false,
  },
  {
    name: 'constraints with a further group',
    builder: securityContextConstraints,
    built: securityContextConstraints.build({}, {}),
    live: { ...securityContextConstraints.build({}, {}), groups: ['x'] },
    differs: true,
  },
  {
    name: 'a webhook as the server keeps it',
    builder: validatingWebhookConfiguration,
    built: { webhooks: [webhook] },
    live: { metadata: injected, webhooks: [storedWebhook] },
    differs: false,
  },
  {
    name: 'a webhook whose bundle nobody injects',
    builder: validatingWebhookConfiguration,
    built: { webhooks: [webhook] },
    live: { webhooks: [storedWebhook] },
    differs: true,
  },
  {
    name: 'a webhook that no longer fails',
    builder: validatingWebhookConfiguration,
    built: { webhooks: [webhook] },
    live: { metadata: injected, webhooks: [{ ...storedWebhook, failurePolicy: 'Ignore' }] },
    differs: true,
  },
  {
    name: 'a definition as the server keeps it',
    builder: customResourceDefinition,
    built: definition,
    live: storedDefinition,
    differs: false,
  },
  {
    name: 'a definition with a further version',
    builder: customResourceDefinition,
    built: definition,
    live: { spec: { ...storedDefinition.spec, versions: [...storedDefinition.spec.versions, { name: 'v2' }] } },
    differs: true,
  },
  {
    name: 'a definition whose default the server has filled in',
    builder: customResourceDefinition,
    built: { spec: { ...definition.spec, versions: [{ name: 'v1', schema: schema({ default: {} }) }] } },
    live: { spec: { ...storedDefinition.spec, versions: [{ name: 'v1', schema: schema({ default: { b: 'c' } }) }] } },
    differs: false,
  },
])('$name differs: $differs', ({ builder, built, live, differs }) => {
  expect(!seems(builder, live, built)).toBe(differs);
  if (differs) expect(seems(builder, builder.merge(live, built), built)).toBe(true);
});

it('keeps the bundle of a converting definition that somebody injects', () => {
  const conversion = {
    strategy: 'Webhook',
    webhook: { clientConfig: { service: { name: 's', namespace: 'n' } }, conversionReviewVersions: ['v1'] },
  };
  const built = { spec: { ...definition.spec, conversion } };
  const stored = {
    ...conversion,
    webhook: { ...conversion.webhook, clientConfig: { caBundle: 'ca', service: { name: 's', namespace: 'n', port: 443 } } },
  };
  const live = { metadata: injected, spec: { ...storedDefinition.spec, conversion: stored } };
  expect(seems(customResourceDefinition, live, built)).toBe(true);
  expect(seems(customResourceDefinition, { ...live, metadata: {} }, built)).toBe(false);
});

test.each<{ name: string; conditions: Json[]; is: string; message?: string }>([
  { name: 'served', conditions: [{ type: 'Established', status: 'True' }], is: 'ready' },
  { name: 'without a word', conditions: [], is: 'waiting' },
  { name: 'on its way', conditions: [{ type: 'Established', status: 'False', reason: 'Installing', message: 'm' }], is: 'waiting' },
  {
    name: 'refused',
    conditions: [{ type: 'Established', status: 'False', reason: 'NotAccepted', message: 'm' }],
    is: 'failed',
    message: 'CustomResourceDefinition boats.g Established=False, NotAccepted: m',
  },
])('a definition $name: $is', ({ conditions, is, message }) => {
  const verdict = customResourceDefinition.judge?.(
    { metadata: { name: 'boats.g' }, status: { conditions } },
    { state: 'Updating', degradedBlocks: true },
  );
  expect(verdict?.is).toBe(is);
  if (message) expect(verdict && 'error' in verdict && verdict.error.message).toBe(message);
});

describe('an object of any other kind', () => {
  const object = (fields: Json): Json => ({ apiVersion: 'v1', kind: 'Any', metadata: { name: 'a' }, ...fields });
  test.each<{ name: string; built: Json; live: Json; differs: boolean }>([
    { name: 'as it is', built: { spec: { a: 1 } }, live: { spec: { a: 1 } }, differs: false },
    { name: 'with defaults', built: { spec: { a: [{ b: 1 }] } }, live: { spec: { a: [{ b: 1, c: 2 }], d: 3 } }, differs: false },
    {
      name: 'whose empty lists were dropped',
      built: { spec: { ingress: [], egress: [], labels: {} } },
      live: { spec: {} },
      differs: false,
    },
    { name: 'with a null', built: { spec: { a: null } }, live: { spec: {} }, differs: false },
    { name: 'with another value', built: { spec: { a: 1 } }, live: { spec: { a: 2 } }, differs: true },
    { name: 'with a further entry', built: { spec: { a: [1] } }, live: { spec: { a: [1, 2] } }, differs: true },
    { name: 'with entries in another order', built: { spec: { a: [1, 2] } }, live: { spec: { a: [2, 1] } }, differs: true },
    {
      name: 'with quantities written otherwise',
      built: { spec: { limits: { cpu: '1000m', memory: '1024Mi' } } },
      live: { spec: { limits: { cpu: '1', memory: '1Gi' } } },
      differs: false,
    },
    {
      name: 'with other quantities',
      built: { spec: { limits: { cpu: '100m' } } },
      live: { spec: { limits: { cpu: '1' } } },
      differs: true,
    },
    { name: 'without a label', built: { metadata: { labels: { a: '1' } } }, live: { metadata: {} }, differs: true },
    { name: 'with a status', built: { status: { a: 1 } }, live: {}, differs: false },
    { name: 'without its owner', built: { metadata: { ownerReferences: [{ uid: 'u' }] } }, live: { metadata: {} }, differs: true },
  ])('$name differs: $differs', ({ built, live, differs }) => {
    expect(!seems(generic, object(live), object(built))).toBe(differs);
  });

  it('has the texts of a Secret as the server keeps them', () => {
    const secret = generic.build(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' }, data: { c: 'ZA==' } },
      {},
    );
    expect(secret).toMatchObject({ data: { a: 'Yg==', c: 'ZA==' } });
    expect(objectAt(secret)).not.toHaveProperty('stringData');
  });
});

test.each([
  {
    name: 'with all that the server fills in',
    spec: { targetNamespaces: ['a'], staticProvidedAPIs: false },
    want: { targetNamespaces: ['a'], upgradeStrategy: 'Default' },
  },
  {
    name: 'as it says',
    spec: { staticProvidedAPIs: true, upgradeStrategy: 'Other' },
    want: { staticProvidedAPIs: true, upgradeStrategy: 'Other' },
  },
])('an OperatorGroup is created $name, so that the next start writes nothing', ({ spec, want }) => {
  const created = operatorGroup.build({ spec }, {});
  expect([created, operatorGroup.merge(created, created)].map((object) => object.spec)).toEqual([want, want]);
});
