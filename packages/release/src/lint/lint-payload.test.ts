import { describe, expect, test } from 'vitest';
import { payloadFile, payloadFiles, payloadObject } from '../../testing/payload-fixture.ts';
import { INCLUDED } from '../../testing/release-builders.ts';
import type { PayloadFile } from '../payload/layout.ts';
import { lintClusterOperatorFile, lintPayload } from './lint-payload.ts';

/** Findings as `level rule file:line`, with the messages apart. */
async function lint(files: readonly PayloadFile[]): Promise<{ brief: string[]; messages: string }> {
  const findings = await lintPayload(files);
  return {
    brief: findings.map(({ level, rule, file, line }) => `${level} ${rule} ${file}:${line}`),
    messages: findings.map(({ message }) => message).join('\n'),
  };
}
const without = (path: string) => payloadFiles().filter((file) => file.path !== path);
const FILE = 'release-manifests/0000_50_some-operator_10_x.yaml';

const annotated = (annotations: object, rest: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  ...rest,
  metadata: { name: 'x', namespace: 'other', annotations: { ...INCLUDED, ...annotations } },
});
const operator = (status: object | undefined, rest: object = { spec: {} }): object => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterOperator',
  metadata: { name: 'some', annotations: INCLUDED },
  ...rest,
  status,
});
const related = [
  { group: '', resource: 'namespaces', name: 'other' },
  { group: 'apps', resource: 'deployments', namespace: 'other', name: '' },
];
const goodStatus = { versions: [{ name: 'operator', version: '4.20.1' }], relatedObjects: related };
const coCrd = payloadFile('release-manifests/0000_10_config_00_crd.yaml', {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'clusteroperators.config.openshift.io', annotations: INCLUDED },
  spec: { group: 'config.openshift.io', scope: 'Cluster', names: { kind: 'ClusterOperator' }, versions: [{ name: 'v1', served: true }] },
});

test('a payload without anything wrong has no findings', async () => {
  expect(await lintPayload([...payloadFiles(), coCrd, payloadFile(FILE, operator(goodStatus))])).toEqual([]);
});

test.each<{ name: string; files: readonly PayloadFile[]; want: string[]; message?: RegExp }>([
  {
    name: 'no metadata',
    files: without('release-manifests/release-metadata'),
    want: ['error layout release-manifests/release-metadata:1'],
  },
  {
    name: 'no image references',
    files: without('release-manifests/image-references'),
    want: ['error layout release-manifests/image-references:1'],
  },
  { name: 'an empty folder', files: without('manifests/0000_00_cluster-version-operator_00_a.yaml'), want: ['error layout manifests:1'] },
  {
    name: 'a version that is none',
    files: [
      ...without('release-manifests/release-metadata'),
      payloadFile('release-manifests/release-metadata', { kind: 'cincinnati-metadata-v0', version: '4.20' }),
    ],
    want: ['error metadata release-manifests/release-metadata:1'],
    message: /invalid Cincinnati metadata version "4.20"/,
  },
  {
    name: 'files of two releases',
    files: [
      ...without('release-manifests/release-metadata'),
      payloadFile('release-manifests/release-metadata', { kind: 'cincinnati-metadata-v0', version: '4.20.2' }),
    ],
    want: ['error metadata release-manifests/image-references:1'],
    message: /\(4\.20\.1\) differs from release-metadata \(4\.20\.2\)/,
  },
  {
    name: 'a file twice',
    files: [...payloadFiles(), ...payloadFiles().slice(3)],
    want: ['error layout release-manifests/0000_50_some-operator_00_a.yaml:1'],
  },
])('layout: $name', async ({ files, want, message = /./ }) => {
  const found = await lint(files);
  expect(found.brief).toEqual(want);
  expect(found.messages).toMatch(message);
});

test.each<{ name: string; object: string | object; want: string[]; message: RegExp }>([
  { name: 'no YAML', object: 'a: 1\n---\n\tb: 1\n', want: [`error manifest ${FILE}:3`], message: /line 3/ },
  {
    name: 'a document that is cut',
    object: 'kind: A\nmetadata: {name: a}\n---\n"\n',
    want: [`error manifest ${FILE}:4`],
    message: /not loaded/,
  },
  {
    name: 'the same object twice in a file',
    object: 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n',
    want: [`error duplicate ${FILE}:9`],
    message: /duplicate resource/,
  },
  {
    name: 'an object that another file has',
    object: payloadObject('Namespace', 'other'),
    want: [`error duplicate ${FILE}:1`],
    message: /is also in release-manifests\/0000_50_some-operator_00_a\.yaml:1, and a cluster with profile self-managed/,
  },
  {
    name: 'a variable twice',
    object: {
      ...payloadObject('Pod', 'x', { namespace: 'other' }),
      spec: { containers: [{ name: 'c', image: 'i', env: [{ name: 'A', value: '1' }, { name: 'A', value: '2' }, { name: 'B' }] }] },
    },
    want: [`warning entry ${FILE}:1`],
    message: /spec\.containers\[0\]\.env has two entries with name "A"; remove one of them/,
  },
  {
    name: 'an object of another feature set is none twice',
    object: payloadObject('Namespace', 'other', { annotations: { 'include.release.openshift.io/hypershift': 'true' } }),
    want: [],
    message: /^$/,
  },
  {
    name: 'an unknown kind',
    object: { apiVersion: 'example.com/v1', kind: 'Boat', metadata: { name: 'x', annotations: INCLUDED } },
    want: [`warning kind ${FILE}:1`],
    message: /knows Boat of example\.com/,
  },
  {
    name: 'a version that is not served',
    object: { ...operator(goodStatus), apiVersion: 'config.openshift.io/v2' },
    want: [`error kind ${FILE}:1`],
    message: /serves v1, not v2/,
  },
  {
    name: 'a namespace that its kind does not have',
    object: payloadObject('ClusterRole', 'x', { apiVersion: 'rbac.authorization.k8s.io/v1', namespace: 'other' }),
    want: [`warning kind ${FILE}:1`],
    message: /has metadata\.namespace other, which a kind without namespaces ignores/,
  },
  { name: 'no namespace', object: payloadObject('ServiceAccount', 'x'), want: [`error kind ${FILE}:1`], message: /no metadata\.namespace/ },
  {
    name: 'too large an object',
    object: annotated({}, { padding: 'x'.repeat(1_600_000) }),
    want: [`error size ${FILE}:1`],
    message: /at most 1572864/,
  },
  {
    name: 'owners in a circle',
    object: ['a', 'b', 'c']
      .map(
        (name, index) =>
          `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n  annotations: {include.release.openshift.io/x: "true"}\n  ownerReferences:\n  - {apiVersion: v1, kind: Namespace, name: ${'bca'[index]}}\n`,
      )
      .join('---\n'),
    want: [`error owner ${FILE}:6`],
    message: /owns itself through Namespace a .*, Namespace b .*, Namespace c /,
  },
  {
    name: 'an owner without a name',
    object: payloadObjectOwned([{ apiVersion: 'v1', kind: 'Namespace' }]),
    want: [`error owner ${FILE}:1`],
    message: /no apiVersion, kind or name/,
  },
])('manifests: $name', async ({ object, want, message }) => {
  const found = await lint([...payloadFiles(), coCrd, payloadFile(FILE, object)]);
  expect(found.brief).toEqual(want);
  expect(found.messages).toMatch(message);
});

function payloadObjectOwned(ownerReferences: object[]): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x', annotations: INCLUDED, ownerReferences } };
}

test.each<{ annotations: object; level?: string; message: RegExp }>([
  { annotations: { 'release.openshift.io/delete': 'yes' }, message: /delete has the value "yes"; write "true"/ },
  { annotations: { 'release.openshift.io/create-only': '1' }, message: /create-only has the value "1"/ },
  { annotations: { 'include.release.openshift.io/hypershift': 'True' }, level: 'warning', message: /hypershift has the value "True"/ },
  { annotations: { 'release.openshift.io/feature-set': 'Default, OKD' }, message: /names " OKD"; there are CustomNoUpgrade, Default/ },
  { annotations: { 'release.openshift.io/feature-set': 'Default', 'release.openshift.io/feature-gate': 'A' }, message: /stands beside/ },
  { annotations: { 'release.openshift.io/major-version': '4' }, message: /only allowed on FeatureGate and CustomResourceDefinition/ },
  { annotations: { 'capability.openshift.io/name': 'Console+Consul' }, message: /names "Consul"; there are Build/ },
  { annotations: { 'config.openshift.io/inject-proxy': 'a' }, message: /names "a"; the containers are none/ },
  { annotations: { 'config.openshift.io/inject-tls': 'false' }, message: /inject-tls has the value "false"/ },
  { annotations: { 'release.openshift.io/feature-sets': 'Default' }, level: 'warning', message: /is not known; a typing mistake\?/ },
  {
    annotations: { 'include.release.openshift.io/self-managed-high-availabilty': 'true' },
    level: 'warning',
    message: /is on few manifests \(1\), where \d+ are for "self-managed-high-availability"; a typing mistake\?/,
  },
  { annotations: { 'inlcude.release.openshift.io/hypershift': 'true' }, level: 'warning', message: /is not known; include\.release/ },
  { annotations: { 'include.release.openshift.io/hypershift': 1 }, message: /has a value that is no text/ },
])('annotations: $annotations', async ({ annotations, level = 'error', message }) => {
  const text = `{\n "apiVersion": "v1",\n "kind": "ServiceAccount",\n "metadata": {"name": "x", "namespace": "other", "annotations": {\n${Object.entries(
    { ...INCLUDED, ...annotations },
  )
    .map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`)
    .join(',\n')}}}}`;
  const found = await lint([...payloadFiles(), payloadFile(FILE, text)]);
  expect(found.brief).toEqual([`${level} annotation ${FILE}:${found.brief[0]?.split(':')[1]}`]);
  // behind apiVersion, kind, metadata and the profile
  expect(Number(found.brief[0]?.split(':')[1])).toBeGreaterThanOrEqual(6);
  expect(found.messages).toMatch(message);
});

test('manifests that no cluster takes are a warning', async () => {
  const found = await lint([...payloadFiles(), payloadFile(FILE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } })]);
  expect(found).toEqual({ brief: [`warning annotation ${FILE}:1`], messages: 'Namespace x: has no annotations: no cluster takes it' });
});

test.each<{ name: string; template: string; want: string[] }>([
  {
    name: 'an image that the release has not',
    template: 'a: 1\nb: {{index .Images "nobody"}}\n',
    want: ['error template manifests/x.yaml:2', 'error manifest manifests/x.yaml:1'],
  },
  { name: 'what a release does not fill in', template: 'kind: A\nb: {{.Nothing}}\n', want: ['warning template manifests/x.yaml:1'] },
])('templates: $name', async ({ template, want }) => {
  const { brief } = await lint([...payloadFiles(), payloadFile('manifests/x.yaml', template)]);
  expect(brief.sort()).toEqual(want.sort());
});

test.each<{ name: string; object: object; want: string[]; message: RegExp }>([
  { name: 'no spec', object: operator(goodStatus, {}), want: ['warning CO-1'], message: /has no spec/ },
  { name: 'no versions', object: operator({ relatedObjects: related }), want: ['error CO-1'], message: /lists no versions/ },
  {
    name: 'no version of the operator',
    object: operator({ ...goodStatus, versions: [{ name: 'other', version: '1' }] }),
    want: ['error CO-2'],
    message: /name operator/,
  },
  {
    name: 'another version',
    object: operator({ ...goodStatus, versions: [{ name: 'operator', version: '0.0.1-snapshot' }] }),
    want: ['error CO-2'],
    message: /but the release is 4\.20\.1/,
  },
  {
    name: 'a version twice',
    object: operator({ ...goodStatus, versions: [...goodStatus.versions, { name: 'a', version: '1' }, { name: 'a', version: '2' }] }),
    want: ['error CO-2'],
    message: /"a" twice/,
  },
  {
    name: 'no related objects',
    object: operator({ versions: goodStatus.versions }),
    want: ['warning CO-14'],
    message: /no status\.relatedObjects/,
  },
  {
    name: 'namespaces alone',
    object: operator({ ...goodStatus, relatedObjects: related.slice(0, 1) }),
    want: ['warning CO-14'],
    message: /nothing but namespaces/,
  },
  {
    name: 'an incomplete related object',
    object: operator({ ...goodStatus, relatedObjects: [...related, { group: '' }] }),
    want: ['error CO-14'],
    message: /relatedObjects\[2\] needs group and resource/,
  },
])('ClusterOperators: $name', async ({ object, want, message }) => {
  const found = await lint([...payloadFiles(), coCrd, payloadFile(FILE, object)]);
  expect(found.brief).toEqual(want.map((one) => `${one} ${FILE}:1`));
  expect(found.messages).toMatch(message);
});

test.each([
  { name: 'before', file: '0000_50_some-operator_20_deployment.yaml', want: [`error CO-16 ${FILE}:1`] },
  { name: 'after', file: '0000_50_some-operator_05_deployment.yaml', want: [] },
  { name: 'another component’s', file: '0000_50_the-other_20_deployment.yaml', want: [] },
])('a ClusterOperator that sorts $name its Deployment', async ({ file, want }) => {
  const deployment = payloadFile(`release-manifests/${file}`, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'some', namespace: 'other', annotations: INCLUDED },
  });
  expect((await lint([...payloadFiles(), coCrd, deployment, payloadFile(FILE, operator(goodStatus))])).brief).toEqual(want);
});

test('what a ClusterOperator of a cluster reports', () => {
  const condition = (type: string, status: string, reason: string, message: string) =>
    `  - {type: ${type}, status: "${status}", reason: "${reason}", message: "${message}"}\n`;
  const text = `apiVersion: config.openshift.io/v1
kind: ClusterOperator
metadata: {name: some}
spec: {}
status:
  versions: [{name: operator, version: 4.20.1}]
  relatedObjects: [{group: "", resource: namespaces, name: a}, {group: apps, resource: deployments, namespace: a, name: ""}]
  conditions:
${condition('Available', 'True', 'AsExpected', 'All is well.')}${condition('Progressing', 'True', 'Working', 'rolling out')}${condition('Upgradeable', 'False', '', 'No')}`;
  const findings = lintClusterOperatorFile(payloadFile('co.yaml', text));
  expect(findings.map(({ level, rule, line }) => `${level} ${rule} ${line}`)).toEqual([
    'error CO-6 8',
    'warning CO-13 9',
    'warning CO-13 10',
    'warning CO-8 10',
    'warning CO-10 11',
    'warning CO-12 11',
  ]);
});

test.each([
  { name: 'no ClusterOperator', text: 'apiVersion: v1\nkind: A\nmetadata: {name: a}\n', message: /holds no ClusterOperator/ },
  { name: 'no YAML', text: '{"a":', message: /is not JSON/ },
])('a file with $name is a finding', ({ text, message }) => {
  const [finding] = lintClusterOperatorFile(payloadFile('co.yaml', text));
  expect(finding).toMatchObject({ level: 'error', rule: 'manifest', file: 'co.yaml', message: expect.stringMatching(message) });
});

describe('what an update stumbles over', () => {
  const boatCrd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'boats.sea.example', annotations: INCLUDED },
    spec: { group: 'sea.example', scope: 'Cluster', names: { kind: 'Boat' }, versions: [{ name: 'v1', served: true }] },
  };
  const boat = payloadObject('Boat', 'b', { apiVersion: 'sea.example/v1' });
  const declaring = (spec: object, featureSet?: string) => ({
    ...boatCrd,
    metadata: {
      ...boatCrd.metadata,
      annotations: { ...INCLUDED, ...(featureSet !== undefined && { 'release.openshift.io/feature-set': featureSet }) },
    },
    spec: { ...boatCrd.spec, versions: [{ name: 'v1', served: true, schema: { openAPIV3Schema: { properties: { spec } } } }] },
  });
  const sails = {
    properties: {
      sails: { type: 'array', items: { properties: { red: { type: 'integer' } } } },
      free: { 'x-kubernetes-preserve-unknown-fields': true },
    },
  };
  const at = (level: string, component: string, content: string | object) =>
    payloadFile(`release-manifests/0000_${level}_${component}_00_x.yaml`, content);
  const account = (namespace: string) => payloadObject('ServiceAccount', 'x', { namespace });
  const head = JSON.stringify(payloadObject('Namespace', 'doubled')).slice(1, -1);

  test.each<{ name: string; files: readonly PayloadFile[]; want: string[]; message?: RegExp }>([
    {
      name: 'an object before the definition of its kind',
      files: [at('20', 'fleet', boat), at('60', 'sea', boatCrd)],
      want: ['error order release-manifests/0000_20_fleet_00_x.yaml:1'],
      message: /before the CustomResourceDefinition of its kind \(release-manifests\/0000_60_sea_00_x\.yaml:1\)/,
    },
    {
      name: 'fields that the definition of their kind does not declare',
      files: [
        at('20', 'sea', declaring(sails)),
        at('60', 'fleet', { ...boat, spec: { sails: [{ red: 1, torn: 2 }], free: { any: 1 }, cleanup: {} } }),
      ],
      want: ['warning field release-manifests/0000_60_fleet_00_x.yaml:1', 'warning field release-manifests/0000_60_fleet_00_x.yaml:1'],
      message: /^Boat b: spec\.cleanup is not declared by .*\nBoat b: spec\.sails\[0\]\.torn is not declared/,
    },
    {
      name: 'not fields of a kind that several definitions define, one for each feature set',
      files: [
        at('20', 'sea', declaring(sails, 'Default')),
        at('20', 'tech', declaring({}, 'TechPreviewNoUpgrade')),
        at('60', 'fleet', { ...boat, spec: { cleanup: {} } }),
      ],
      want: [],
    },
    { name: 'not one whose definition comes at once with it', files: [at('20', 'fleet', boat), at('20', 'sea', boatCrd)], want: [] },
    { name: 'not one behind its definition', files: [at('20', 'sea', boatCrd), at('60', 'fleet', boat)], want: [] },
    {
      name: 'an object before its namespace',
      files: [at('20', 'fleet', account('late')), at('60', 'fleet', payloadObject('Namespace', 'late'))],
      want: ['error order release-manifests/0000_20_fleet_00_x.yaml:1'],
      message: /comes before its namespace/,
    },
    {
      name: 'a namespace that nobody brings',
      files: [at('60', 'fleet', account('nowhere'))],
      want: ['warning order release-manifests/0000_60_fleet_00_x.yaml:1'],
      message: /no manifest brings the namespace nowhere/,
    },
    { name: 'not a namespace of every cluster', files: [at('60', 'fleet', account('kube-system'))], want: [] },
    {
      name: 'a version that is gone',
      files: [at('60', 'fleet', payloadObject('PodDisruptionBudget', 'x', { apiVersion: 'policy/v1beta1', namespace: 'other' }))],
      want: ['error version release-manifests/0000_60_fleet_00_x.yaml:1'],
      message: /has not served policy\/v1beta1 of it since 1\.25; use v1/,
    },
    {
      name: 'a doubled key of JSON',
      files: [at('60', 'fleet', `{${head},\n"spec":{"a":1,"b":{"a":2},\n"a":3}}`)],
      want: ['error key release-manifests/0000_60_fleet_00_x.yaml:3'],
      message: /the key "a" stands twice/,
    },
    {
      name: 'a doubled key of YAML',
      files: [
        at(
          '60',
          'fleet',
          `---\nkind: Namespace\napiVersion: v1\nmetadata:\n  name: doubled\n  annotations: {${JSON.stringify(INCLUDED).slice(1, -1)}}\n  labels:\n    a: x\n    b: {a: 1}\n    a: z\n`,
        ),
      ],
      want: ['error key release-manifests/0000_60_fleet_00_x.yaml:10'],
      message: /the key "a" stands twice/,
    },
    {
      name: 'an integer that would be rounded, and not one in a text',
      files: [
        at(
          '60',
          'fleet',
          `{${head},"spec":{"text":"9223372036854775808","float":1e300,"most":9223372036854775807,"more":9223372036854775808}}`,
        ),
      ],
      want: ['error number release-manifests/0000_60_fleet_00_x.yaml:1'],
      message: /9223372036854775808 is beyond the 64 bits of a server's integers and is kept as 9223372036854776000/,
    },
  ])('$name', async ({ files, want, message = / ?/ }) => {
    const found = await lint([...payloadFiles(), ...files]);
    expect(found.brief).toEqual(want);
    expect(found.messages).toMatch(message);
  });
});
