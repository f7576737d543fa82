import type { Policy } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { buildPolicy, configurationPolicy, objectTemplate } from '../../testing/policy-builders.ts';
import { objectDefinitions, readInPieces } from './policy-structure.ts';

const withTemplates = (templates: unknown): Policy => buildPolicy('p', { spec: { 'policy-templates': templates } });
const withRaw = (raw: unknown): Policy => withTemplates([configurationPolicy({ 'object-templates-raw': raw })]);
const first = 'spec.policy-templates[0].objectDefinition';

test('reads plain templates in order, with what is wanted gone marked so', () => {
  const policy = withTemplates([
    configurationPolicy({ 'object-templates': [objectTemplate({ kind: 'A' }), objectTemplate({ kind: 'B' }, 'MustNotHave')] }),
    configurationPolicy({ 'object-templates': [objectTemplate({ kind: 'C' })] }),
  ]);
  expect(objectDefinitions(policy)).toEqual({
    objects: [
      { definition: { kind: 'A' }, mustNotHave: false, raw: false },
      { definition: { kind: 'B' }, mustNotHave: true, raw: false },
      { definition: { kind: 'C' }, mustNotHave: false, raw: false },
    ],
  });
});

test('reads a raw template with its expressions taken out, and skips entries without an object', () => {
  const raw = `
{{- range $name := (lookup "v1" "ConfigMap" "ns" "").items }}
- complianceType: musthave
  objectDefinition:
    kind: ClusterVersion
    metadata: { name: {{ $name }} }
    spec:
      {{ if .edge }}
      channel: one
      {{ else }}
      channel: two
      {{ end }}
- complianceType: musthave
{{- end }}`;
  expect(objectDefinitions(withRaw(raw))).toEqual({
    objects: [
      {
        definition: { kind: 'ClusterVersion', metadata: { name: 'placeholder' }, spec: { channel: 'two' } },
        mustNotHave: false,
        raw: true,
      },
    ],
  });
});

const nested = (depth: number): unknown => {
  let value: unknown = {};
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
};
const bomb = `a: &a [x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]
d: [*c, *c, *c, *c, *c, *c, *c, *c, *c]`;

describe('an invalid policy says what is wrong:', () => {
  test.each<{ name: string; policy: Policy; invalid: string | RegExp }>([
    {
      name: 'no templates',
      policy: withTemplates(undefined),
      invalid: 'spec.policy-templates is not a list; give the policy at least one template',
    },
    { name: 'a template that is no object', policy: withTemplates(['x']), invalid: `${first} is missing or no object` },
    {
      name: 'no metadata',
      policy: withTemplates([{ objectDefinition: { spec: {} } }]),
      invalid: `${first}.metadata is missing or no object`,
    },
    {
      name: 'a spec of the wrong type',
      policy: withTemplates([{ objectDefinition: { metadata: {}, spec: [] } }]),
      invalid: `${first}.spec is missing or no object`,
    },
    { name: 'neither form', policy: withTemplates([configurationPolicy({})]), invalid: /are neither set; set exactly one of them$/ },
    {
      name: 'both forms',
      policy: withTemplates([configurationPolicy({ 'object-templates': [], 'object-templates-raw': '' })]),
      invalid: /are both set/,
    },
    {
      name: 'a list that is none',
      policy: withTemplates([configurationPolicy({ 'object-templates': 'x' })]),
      invalid: `${first}.spec.object-templates is not a list`,
    },
    {
      name: 'an object template without an object',
      policy: withTemplates([configurationPolicy({ 'object-templates': [{ complianceType: 'musthave' }] })]),
      invalid: `${first}.spec.object-templates[0].objectDefinition is missing or no object`,
    },
    { name: 'a raw template that is no text', policy: withRaw({}), invalid: `${first}.spec.object-templates-raw is not a text` },
    {
      name: 'more objects than are read',
      policy: withRaw('- objectDefinition: {}\n'.repeat(3_000)),
      invalid: `${first}.spec.object-templates-raw brings the policy to 3000 objects; at most 2000 are read, divide it into several policies`,
    },
    { name: 'a deep policy', policy: withTemplates([nested(20_000)]), invalid: 'spec is nested more than 100 deep; flatten its templates' },
    { name: 'a huge policy', policy: withTemplates(Array.from({ length: 200_000 }, () => 1)), invalid: /more than 100000 values/ },
  ])('$name', ({ policy, invalid }) => {
    const result = objectDefinitions(policy);
    expect(result.invalid).toMatch(invalid);
  });
});

describe('a text that cannot be read derives nothing, and makes a policy invalid for the reference alone:', () => {
  test.each<{ name: string; policy: Policy; why: string | RegExp }>([
    { name: 'a raw template that is no YAML', policy: withRaw('a: [b'), why: /is no YAML once its expressions are taken out: "/ },
    { name: 'a raw template that is no list', policy: withRaw('a: b'), why: /is not a list once its expressions are taken out$/ },
    { name: 'a raw template of deep lists', policy: withRaw('['.repeat(10_000)), why: /is no YAML|too deep/ },
    { name: 'a raw template of nothing but quotes', policy: withRaw('"'.repeat(10_000)), why: /is no YAML/ },
    { name: 'a raw template that multiplies itself', policy: withRaw(`- ${bomb.replaceAll('\n', '\n  ')}`), why: /is no YAML once/ },
    { name: 'a raw template that contains itself', policy: withRaw('- &a [*a]'), why: /is too deep|is no YAML/ },
    {
      name: 'a huge raw template',
      policy: withRaw('x'.repeat(300_000)),
      why: `${first}.spec.object-templates-raw brings the raw templates of the policy to 300000 characters; at most 262144 are read, divide it into several policies`,
    },
    {
      name: 'raw templates that are large together',
      policy: withTemplates(Array.from({ length: 11 }, () => configurationPolicy({ 'object-templates-raw': '- a\n'.repeat(30_000) }))),
      why: /^spec\.policy-templates\[2\]\.objectDefinition\.spec\.object-templates-raw brings the raw templates .* to 360000 characters/,
    },
    {
      name: 'a large raw template of one entry',
      policy: withRaw(`- a\n- [${'1,'.repeat(50_000)}]\n`),
      why: `${first}.spec.object-templates-raw from line 2 has an entry that is too large to be read; divide it into several policies`,
    },
    {
      name: 'an alias in another piece than its anchor',
      policy: withRaw(`- &a x\n${'- {b: c}\n'.repeat(10_000)}- *a\n`),
      why: /raw from line \d+ is no YAML once its expressions are taken out: ".*Unresolved alias/,
    },
  ])('$name', ({ policy, why }) => {
    const { unread, invalid } = objectDefinitions(policy);
    expect(unread).toMatch(why);
    expect(invalid).toBeUndefined();
    expect(objectDefinitions(policy, true).invalid).toMatch(why);
  });

  test('what can be read beside it counts', () => {
    const raws = ['a: [b', '- objectDefinition: { kind: A }\n'].map((raw) => configurationPolicy({ 'object-templates-raw': raw }));
    expect(objectDefinitions(withTemplates(raws))).toEqual({
      objects: [{ definition: { kind: 'A' }, mustNotHave: false, raw: true }],
      unread: expect.stringContaining('policy-templates[0]'),
    });
  });
});

describe('templates of other kinds', () => {
  const other = (kind: string, spec?: object) => ({
    objectDefinition: { apiVersion: 'policy.open-cluster-management.io/v1beta1', kind, metadata: { name: 'x' }, ...(spec && { spec }) },
  });

  test.each(['CertificatePolicy', 'ConstraintTemplate', 'IamPolicy', 'K8sRequiredLabels', 'OperatorPolicy'])(
    '%s has no objects',
    (kind) => {
      expect(objectDefinitions(withTemplates([other(kind, { match: {} })]))).toEqual({ objects: [] });
      expect(objectDefinitions(withTemplates([other(kind)]))).toEqual({ objects: [] });
      expect(objectDefinitions(withTemplates([other(kind, { match: {} })]), true).invalid).toMatch(/are neither set/);
    },
  );

  test('an OperatorPolicy wants its Subscription', () => {
    const subscription = { name: 'logging', namespace: 'site-logging', source: 'site-operators', channel: 'stable' };
    const policy = withTemplates([other('OperatorPolicy', { complianceType: 'mustnothave', subscription })]);
    expect(objectDefinitions(policy).objects).toEqual([
      {
        definition: {
          apiVersion: 'operators.coreos.com/v1alpha1',
          kind: 'Subscription',
          metadata: { name: 'logging', namespace: 'site-logging' },
          spec: subscription,
        },
        mustNotHave: true,
        raw: false,
        ofOperator: true,
      },
    ]);
  });
});

test('a large raw template reads in pieces as it does whole', () => {
  const entries = Array.from({ length: 1_500 }, (_, i) => ({
    complianceType: 'musthave',
    objectDefinition: { kind: 'A', n: i, text: '- a\n- b' },
  }));
  const text = entries.map((entry) => `  - ${JSON.stringify(entry)}\n`).join('');
  const pieces = [...readInPieces(withRaw(text))];
  expect(pieces.length).toBeGreaterThan(2);
  expect(objectDefinitions(withRaw(text)).objects?.map(({ definition }) => definition)).toEqual(
    entries.map((entry) => entry.objectDefinition),
  );
});
