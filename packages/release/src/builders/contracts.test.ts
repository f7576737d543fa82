import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Json } from '../json-values.ts';
import { contracts, keepScale } from './contracts.ts';
import { builderOf } from './dispatch.ts';
import { isSameContent } from './drift.ts';

const objectOf = (apiVersion: string, kind: string, fields: Json, metadata: Json = {}): Json => ({
  apiVersion,
  kind,
  metadata: { name: 'x', ...metadata },
  ...fields,
});
const annotated = (key: string, value: string) => ({ annotations: { [key]: value } });
const injected = annotated('service.beta.openshift.io/inject-cabundle', 'true');
const trusted = { labels: { 'config.openshift.io/inject-trusted-cabundle': 'true' } };
const webhook = (name: string, clientConfig: Json) => ({ name, clientConfig });
const MUTATING = ['admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration'] as const;

interface Row {
  readonly name: string;
  readonly built: Json;
  readonly live: Json;
  /** Top-level fields that are written; absent: the live object is as it is to be. */
  readonly written?: Json;
}

test.each<Row>([
  {
    name: 'a bundle that was asked for stays, and a new webhook begins with it',
    built: objectOf(...MUTATING, { webhooks: [webhook('new', {}), webhook('old', {})] }, injected),
    live: objectOf(...MUTATING, { webhooks: [webhook('old', { caBundle: 'ca' })] }, injected),
    written: { webhooks: [webhook('new', { caBundle: 'ca' }), webhook('old', { caBundle: 'ca' })] },
  },
  {
    name: 'a bundle that was not asked for goes',
    built: objectOf(...MUTATING, { webhooks: [webhook('old', {})] }),
    live: objectOf(...MUTATING, { webhooks: [webhook('old', { caBundle: 'ca' })] }),
    written: { webhooks: [webhook('old', {})] },
  },
  {
    name: 'a bundle of cert-manager in an APIService stays',
    built: objectOf(
      'apiregistration.k8s.io/v1',
      'APIService',
      { spec: { group: 'g' } },
      annotated('cert-manager.io/inject-ca-from', 'a/b'),
    ),
    live: objectOf(
      'apiregistration.k8s.io/v1',
      'APIService',
      { spec: { group: 'g', caBundle: 'ca' } },
      annotated('cert-manager.io/inject-ca-from', 'a/b'),
    ),
  },
  {
    name: 'a trusted bundle stays in place of what the release has',
    built: objectOf('v1', 'ConfigMap', { data: { 'ca-bundle.crt': '', a: '1' } }, trusted),
    live: objectOf('v1', 'ConfigMap', { data: { 'ca-bundle.crt': 'ca', a: '1' } }, trusted),
  },
  {
    name: 'a token stays',
    built: objectOf('v1', 'Secret', { data: { a: 'MQ==' } }, annotated('kubernetes.io/service-account.name', 'a')),
    live: objectOf('v1', 'Secret', { data: { a: 'MQ==', token: 'dA==' } }, annotated('kubernetes.io/service-account.name', 'a')),
  },
  {
    name: 'a key that somebody adds to another Secret goes',
    built: objectOf('v1', 'Secret', { data: { a: 'MQ==' } }),
    live: objectOf('v1', 'Secret', { data: { a: 'MQ==', b: 'MQ==' } }),
    written: { data: { a: 'MQ==' } },
  },
  {
    name: 'replicas that the release leaves out stay',
    built: objectOf('apps/v1', 'StatefulSet', { spec: { serviceName: 's' } }),
    live: objectOf('apps/v1', 'StatefulSet', { spec: { serviceName: 's', replicas: 5 } }),
  },
  {
    name: 'replicas that the release sets are put back, zero too',
    built: objectOf('apps/v1', 'StatefulSet', { spec: { replicas: 0 } }),
    live: objectOf('apps/v1', 'StatefulSet', { spec: { replicas: 5 } }),
    written: { spec: { replicas: 0 } },
  },
  {
    name: 'a claim keeps its volume and its class',
    built: objectOf('v1', 'PersistentVolumeClaim', { spec: { resources: { requests: { storage: '1024Mi' } } } }),
    live: objectOf('v1', 'PersistentVolumeClaim', {
      spec: { resources: { requests: { storage: '1Gi' } }, volumeName: 'v', storageClassName: 'c' },
    }),
  },
])('$name', ({ built, live, written }) => {
  const next = builderOf({ ...versionOf(built), kind: String(built.kind) }).merge(live, built);
  expect(isSameContent(live, next)).toBe(written === undefined);
  if (written) expect(next).toMatchObject(written);
});

test.each([
  { name: 'more than the release has', live: 5, wanted: 3, kept: 5 },
  { name: 'fewer than the release has', live: 1, wanted: 3, kept: 1 },
  { name: 'not the zero by which somebody turned it off', live: 0, wanted: 3, kept: 3 },
  { name: 'none of an object that the release turns off', live: 5, wanted: 0, kept: 0 },
])('an autoscaler that names an object keeps $name', ({ live, wanted, kept }) => {
  const of = (replicas: number) => objectOf('apps/v1', 'StatefulSet', { spec: { replicas, serviceName: 's' } });
  expect(keepScale(of(live), of(wanted))).toEqual(of(kept));
});

function versionOf({ apiVersion }: Json): { group: string; version: string } {
  const [group = '', version = ''] = String(apiVersion).includes('/') ? String(apiVersion).split('/') : ['', String(apiVersion)];
  return { group, version };
}

test('the documents have a row for each contract', () => {
  const text = readFileSync(new URL('../../../../docs/version-operator.md', import.meta.url), 'utf8');
  expect(contracts.filter(({ name }) => !text.includes(`| ${name} |`)).map(({ name }) => name)).toEqual([]);
});
