import { expect, test } from 'vitest';
import { contractsOver } from './given-parts.ts';

const webhook = (kind: string, annotations: object, clientConfig: object) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name: 'x', annotations },
  webhooks: [{ name: 'one.test', clientConfig }],
});
const asked = { 'service.beta.openshift.io/inject-cabundle': 'true' };
const injected = { service: { name: 's', namespace: 'n' }, caBundle: 'eA==' };
const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'x' }, spec: {} };
const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: '1' } };

test.each([
  {
    name: 'a bundle that is asked for is an injected one',
    live: webhook('MutatingWebhookConfiguration', asked, injected),
    manifest: webhook('MutatingWebhookConfiguration', asked, { service: injected.service }),
    path: 'webhooks[0].clientConfig.caBundle',
    over: ['injected CA bundles'],
  },
  {
    name: 'one that nobody asks for is not given away',
    live: webhook('MutatingWebhookConfiguration', {}, injected),
    manifest: webhook('MutatingWebhookConfiguration', {}, { service: injected.service }),
    path: 'webhooks[0].clientConfig.caBundle',
    over: [],
  },
  {
    name: 'a field of a kind without rules is not given away',
    live: { ...policy, spec: { ingress: [{}] } },
    manifest: policy,
    path: 'spec.ingress',
    over: [],
  },
  { name: 'a label is metadata', live: policy, manifest: policy, path: 'metadata.labels.a', over: ['metadata'] },
  {
    name: 'a field beside those of the manifest is a top-level one',
    live: policy,
    manifest: { ...policy, spec: undefined, other: {} },
    path: 'kept',
    over: ['top-level fields'],
  },
  {
    name: 'a kind with rules has its merge rules',
    live: { ...config, data: { a: '1', b: '2' } },
    manifest: config,
    path: 'data.b',
    over: ['merge rules of a kind'],
  },
])('$name', ({ live, manifest, path, over }) => {
  expect([...contractsOver(live, manifest, path)]).toEqual(over);
});
