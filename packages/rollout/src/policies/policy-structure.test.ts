import type { Policy } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { buildPolicy, configurationPolicy, objectTemplate } from './policy-builders.ts';
import { objectDefinitions, withoutExpressions } from './policy-structure.ts';

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

test.each([
  { name: 'a variable', text: 'a {{ $x }} b', want: 'a placeholder b' },
  { name: 'a field, with trim markers', text: '{{- .Values.a -}}', want: 'placeholder' },
  { name: 'a call', text: 'a {{ lookup "v1" }}b', want: 'a b' },
  { name: 'an assignment', text: '{{ $x := 1 }}a', want: 'a' },
  { name: 'an expression with a brace in it', text: 'a {{ "}" }} {{ $x }}', want: 'a {{ "}" }} placeholder' },
  { name: 'an expression that never ends', text: 'a {{ $x', want: 'a {{ $x' },
])('of $name is left what the reference leaves', ({ text, want }) => expect(withoutExpressions(text)).toBe(want));

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
    { name: 'a raw template that is no YAML', policy: withRaw('a: [b'), invalid: /is no YAML once its expressions are taken out: "/ },
    { name: 'a raw template that is no list', policy: withRaw('a: b'), invalid: /is not a list once its expressions are taken out$/ },
    { name: 'a raw template of deep lists', policy: withRaw('['.repeat(20_000)), invalid: /is no YAML|too deep/ },
    { name: 'a raw template of nothing but quotes', policy: withRaw('"'.repeat(100_000)), invalid: /is no YAML/ },
    { name: 'a raw template that multiplies itself', policy: withRaw(`- ${bomb.replaceAll('\n', '\n  ')}`), invalid: /is no YAML once/ },
    { name: 'a raw template that contains itself', policy: withRaw('- &a [*a]'), invalid: /is too deep|is no YAML/ },
    { name: 'a huge raw template', policy: withRaw('x'.repeat(200_000)), invalid: /has 200000 characters; at most 131072 are read$/ },
    { name: 'a deep policy', policy: withTemplates([nested(20_000)]), invalid: 'spec is nested more than 100 deep; flatten its templates' },
    { name: 'a huge policy', policy: withTemplates(Array.from({ length: 200_000 }, () => 1)), invalid: /more than 100000 values/ },
  ])('$name', ({ policy, invalid }) => {
    const result = objectDefinitions(policy);
    expect(result.invalid).toMatch(invalid);
  });
});

test('expressions are taken out of a hostile text in linear time', () => {
  const started = performance.now();
  withoutExpressions('{'.repeat(500_000));
  withoutExpressions(`${'{{ '.repeat(150_000)}}`);
  withoutExpressions('{{ $x }'.repeat(70_000));
  expect(performance.now() - started).toBeLessThan(2_000);
});
