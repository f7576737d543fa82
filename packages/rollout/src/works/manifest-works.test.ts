import { Annotation } from '@flotilla/api';
import { ManifestWork, ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { desiredWork, findTemplateProblem, judgeWork, parseExpectedValues, trimWork, trimWorkStatus } from './manifest-works.ts';

type Status = 'True' | 'False' | 'Unknown';
const condition = (type: string, status: Status = 'True', more: Record<string, unknown> = {}) => ({
  type,
  status,
  reason: 'Test',
  message: `${type} message`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...more,
});
const reported = (generation?: number) => {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return [condition('Applied', 'True', observed), condition('Available', 'True', observed)];
};
const manifest = (ordinal: number, values: readonly unknown[] = [], statuses: Partial<Record<string, Status>> = {}) => ({
  resourceMeta: {
    ordinal,
    kind: 'ConfigMap',
    name: `cm-${ordinal}`,
    namespace: 'default',
    group: '',
    version: 'v1',
    resource: 'configmaps',
  },
  conditions: ['Applied', 'Available', 'StatusFeedbackSynced'].map((type) => condition(type, statuses[type] ?? 'True')),
  statusFeedback: { values },
});
const text = (name: string, value: string) => ({ name, fieldValue: { type: 'String', string: value } });
const integer = (name: string, value: number) => ({ name, fieldValue: { type: 'Integer', integer: value } });
const generations = (generation: number, observed?: number) => [
  integer('flotilla.io/generation', generation),
  ...(observed === undefined ? [] : [integer('flotilla.io/observedGeneration', observed)]),
];
/** Values read back of an object with a condition that a value is of. */
const conditionOf = (value: string, generation: number, observed: number) => [
  ...generations(generation),
  integer(`flotilla.io/observedGeneration/${value}`, observed),
];
const deployed = (values: readonly unknown[]) => {
  const base = manifest(0, values);
  return { ...base, resourceMeta: { ...base.resourceMeta, group: 'apps', kind: 'Deployment', resource: 'deployments' } };
};
interface Parts {
  readonly expected?: string;
  readonly conditions?: unknown;
  readonly manifests?: unknown;
  readonly generation?: number;
  /** Milliseconds since the hub saw the work applied; default a minute. */
  readonly appliedFor?: number;
}
const build = (parts: Parts) =>
  ManifestWork.schema.parse({
    metadata: {
      name: 'work',
      namespace: 'spoke',
      generation: parts.generation ?? 1,
      annotations: parts.expected === undefined ? undefined : { [Annotation.expectedValues]: parts.expected },
    },
    spec: { workload: { manifests: [{ apiVersion: 'v1', kind: 'ConfigMap' }] } },
    ...(parts.conditions !== undefined && {
      status: { conditions: parts.conditions, resourceStatus: { manifests: parts.manifests ?? [] } },
    }),
  });
const expecting = (...values: readonly { manifestIndex: number; name: string; value: unknown }[]) => JSON.stringify(values);
const ready = expecting({ manifestIndex: 0, name: 'isReady', value: 'True' });

interface Row {
  readonly name: string;
  readonly work: Parts;
  /** Absent: the work is complete. */
  readonly waitsFor?: RegExp;
}

const UNDATED = /^isReady of manifest 0 says of no generation; it counts 20 s after the work was seen applied, when it was read again$/;

const rows: Row[] = [
  { name: 'a work without a status waits', work: {}, waitsFor: /^Applied is not reported yet$/ },
  { name: 'an empty status waits', work: { conditions: [] }, waitsFor: /^Applied is not reported yet$/ },
  { name: 'applied and available is enough without expected values', work: { conditions: reported() } },
  { name: 'an empty annotation expects nothing', work: { expected: '', conditions: reported(1) } },
  { name: 'an empty list expects nothing', work: { expected: '[]', conditions: reported(1) } },
  { name: 'null expects nothing', work: { expected: 'null', conditions: reported(1) } },
  {
    name: 'a work that could not be applied waits and says why',
    work: { conditions: [condition('Applied', 'False'), condition('Available')] },
    waitsFor: /^Applied is False: Applied message$/,
  },
  {
    name: 'a work whose availability is unknown waits',
    work: { conditions: [condition('Applied'), condition('Available', 'Unknown')] },
    waitsFor: /^Available is Unknown/,
  },
  {
    name: 'a status of an earlier generation is none',
    work: { generation: 2, conditions: reported(1) },
    waitsFor: /^Applied is reported for generation 1, not yet for 2$/,
  },
  {
    name: 'availability of an earlier generation is none',
    work: {
      generation: 2,
      conditions: [condition('Applied', 'True', { observedGeneration: 2 }), condition('Available', 'True', { observedGeneration: 1 })],
    },
    waitsFor: /^Available is reported for generation 1/,
  },
  { name: 'a status of this generation counts', work: { generation: 2, conditions: reported(2) } },
  { name: 'a status beyond this generation counts too', work: { generation: 2, conditions: reported(3) } },
  {
    name: 'an index and a value that are left out are 0 and empty',
    work: { expected: '[{"name":"isReady"}]', conditions: reported(1), manifests: [manifest(0, [text('isReady', '')])] },
  },
  {
    name: 'the readiness of the version before is none',
    work: { expected: ready, conditions: reported(1), manifests: [manifest(0, [text('isReady', 'True'), ...generations(2, 1)])] },
    waitsFor: /^the status of manifest 0 is of generation 1, its object is at 2$/,
  },
  {
    name: 'the readiness of this version counts',
    work: { expected: ready, conditions: reported(1), manifests: [manifest(0, [text('isReady', 'True'), ...generations(2, 2)])] },
  },
  {
    name: 'the readiness that a condition of the version before tells is none',
    work: {
      expected: ready,
      conditions: reported(1),
      manifests: [manifest(0, [text('isReady', 'True'), ...conditionOf('isReady', 2, 1)])],
    },
    waitsFor: /^the status of manifest 0 is of generation 1, its object is at 2$/,
  },
  {
    name: 'the readiness that a condition of this version tells counts',
    work: {
      expected: ready,
      conditions: reported(1),
      manifests: [manifest(0, [text('isReady', 'True'), ...conditionOf('isReady', 2, 2)])],
    },
  },
  {
    name: 'of two generations the older one counts',
    work: {
      expected: ready,
      conditions: reported(1),
      manifests: [manifest(0, [text('isReady', 'True'), ...conditionOf('isReady', 2, 1), integer('flotilla.io/observedGeneration', 2)])],
    },
    waitsFor: /^the status of manifest 0 is of generation 1, its object is at 2$/,
  },
  {
    name: 'the generation of another condition says nothing of this value',
    work: {
      expected: ready,
      conditions: reported(1),
      manifests: [manifest(0, [text('isReady', 'True'), ...conditionOf('other', 2, 2)])],
      appliedFor: 19_999,
    },
    waitsFor: UNDATED,
  },
  {
    name: 'a kind that does not say what its status is of waits until it was read again',
    work: {
      expected: ready,
      conditions: reported(1),
      manifests: [manifest(0, [text('isReady', 'True'), ...generations(2)])],
      appliedFor: 19_999,
    },
    waitsFor: UNDATED,
  },
  {
    name: 'and then counts',
    work: {
      expected: ready,
      conditions: reported(1),
      manifests: [manifest(0, [text('isReady', 'True'), ...generations(2)])],
      appliedFor: 20_000,
    },
  },
  {
    name: 'a workload that nobody has looked at yet waits',
    work: { expected: ready, conditions: reported(1), manifests: [deployed([text('isReady', 'True'), ...generations(1)])] },
    waitsFor: /^no controller has looked at generation 1 of manifest 0 yet$/,
  },
  {
    name: 'a workload of a work that does not ask for generations waits until it was read again',
    work: { expected: ready, conditions: reported(1), manifests: [deployed([text('isReady', 'True')])], appliedFor: 0 },
    waitsFor: UNDATED,
  },
  {
    name: 'a workload of a work that does not ask for generations counts then',
    work: { expected: ready, conditions: reported(1), manifests: [deployed([text('isReady', 'True')])] },
  },
  {
    name: 'the expected value is reported',
    work: { expected: ready, conditions: reported(1), manifests: [manifest(0, [text('isReady', 'True')])] },
  },
  {
    name: 'another value is reported',
    work: { expected: ready, conditions: reported(1), manifests: [manifest(0, [text('isReady', 'true')])] },
    waitsFor: /^isReady of manifest 0 is "true", expected "True"$/,
  },
  {
    name: 'the value is not reported',
    work: { expected: ready, conditions: reported(1), manifests: [manifest(0, [text('other', 'True')])] },
    waitsFor: /^manifest 0 does not report isReady$/,
  },
  {
    name: 'no manifest is reported',
    work: { expected: ready, conditions: reported(1) },
    waitsFor: /^manifest 0 is not reported yet$/,
  },
  {
    name: 'manifests are told apart by ordinal, not by place',
    work: {
      expected: expecting({ manifestIndex: 1, name: 'v', value: 'b' }),
      conditions: reported(1),
      manifests: [manifest(1, [text('v', 'b')]), manifest(0, [text('v', 'a')])],
    },
  },
  {
    name: 'a manifest that is not available keeps its value from counting',
    work: { expected: ready, conditions: reported(1), manifests: [manifest(0, [text('isReady', 'True')], { Available: 'False' })] },
    waitsFor: /^Available of manifest 0 is not True$/,
  },
  {
    name: 'feedback that was not read keeps its value from counting',
    work: {
      expected: ready,
      conditions: reported(1),
      manifests: [manifest(0, [text('isReady', 'True')], { StatusFeedbackSynced: 'False' })],
    },
    waitsFor: /^StatusFeedbackSynced of manifest 0 is not True$/,
  },
  {
    name: 'numbers, truth values and raw JSON are compared as texts',
    work: {
      expected: expecting(
        { manifestIndex: 0, name: 'count', value: '3' },
        { manifestIndex: 0, name: 'zero', value: 0 },
        { manifestIndex: 0, name: 'ok', value: true },
        { manifestIndex: 0, name: 'no', value: 'false' },
        { manifestIndex: 0, name: 'raw', value: '{"a":1}' },
      ),
      conditions: reported(1),
      manifests: [
        manifest(0, [
          { name: 'count', fieldValue: { type: 'Integer', integer: 3 } },
          { name: 'zero', fieldValue: { type: 'Integer', integer: 0 } },
          { name: 'ok', fieldValue: { type: 'Boolean', boolean: true } },
          { name: 'no', fieldValue: { type: 'Boolean', boolean: false } },
          { name: 'raw', fieldValue: { type: 'JsonRaw', jsonRaw: '{"a":1}' } },
        ]),
      ],
    },
  },
  {
    name: 'every expected value counts, not only the first',
    work: {
      expected: expecting({ manifestIndex: 0, name: 'a', value: '1' }, { manifestIndex: 0, name: 'b', value: '2' }),
      conditions: reported(1),
      manifests: [manifest(0, [text('a', '1'), text('b', '1')])],
    },
    waitsFor: /^b of manifest 0 is "1", expected "2"$/,
  },
];

const NOW = Date.parse('2026-01-01T01:00:00Z');
const judge = (parts: Parts, work = build(parts)) => judgeWork(work, { now: NOW, appliedSince: () => NOW - (parts.appliedFor ?? 60_000) });

describe('judgeWork', () => {
  test.each(rows)('$name', ({ work, waitsFor }) => {
    const verdict = judge(work);
    expect(verdict.complete).toBe(waitsFor === undefined);
    expect(verdict.complete ? '' : verdict.waitsFor).toMatch(waitsFor ?? /^$/);
    expect(verdict.complete ? undefined : verdict.problem).toBeUndefined();
  });

  test('an annotation that cannot be read is a problem, also of a work that is applied', () => {
    const verdict = judge({ expected: '[{"manifestIndex":"0"}]', conditions: reported(1) });
    expect(verdict).toMatchObject({
      complete: false,
      problem: expect.stringMatching(/^ManifestWork spoke\/work: annotation openshift.*malformed/),
    });
  });
});

test('says when a value without a generation counts although nothing changes; of all others it knows no such time', () => {
  const undated = { expected: ready, conditions: reported(1), manifests: [manifest(0, [text('isReady', 'True')])], appliedFor: 5_000 };
  expect(judge(undated)).toMatchObject({ complete: false, countsAt: NOW + 15_000 });
  const wrong = { ...undated, manifests: [manifest(0, [text('isReady', 'False')])] };
  expect(judge(wrong)).not.toHaveProperty('countsAt');
});

describe('parseExpectedValues names what is wrong', () => {
  test.each([
    {
      name: 'no JSON',
      text: '{',
      want: /^annotation openshift-cluster-group-upgrades\/expectedValues "\{" is no JSON: expected a JSON list of/,
    },
    { name: 'no list', text: '{"a":1}', want: /is malformed: expected a JSON list of/ },
    {
      name: 'a negative index',
      text: '[{"manifestIndex":-1,"name":"a","value":"b"}]',
      want: /malformed at \[0\]\.manifestIndex: expected/,
    },
    { name: 'an index that is no whole number', text: '[{"manifestIndex":0.5,"name":"a","value":"b"}]', want: /\[0\]\.manifestIndex/ },
    { name: 'no name', text: '[{"manifestIndex":0,"value":"b"}]', want: /\[0\]\.name/ },
    { name: 'a value that is an object', text: '[{"manifestIndex":0,"name":"a","value":{}}]', want: /\[0\]\.value/ },
    { name: 'a very long text', text: 'x'.repeat(100_000), want: /^.{1,400}$/ },
  ])('$name', ({ text: annotation, want }) => expect(parseExpectedValues(annotation).problem).toMatch(want));
});

const template = (parts: { expected?: string; manifests?: unknown[]; name?: string }) =>
  ManifestWorkReplicaSet.schema.parse({
    metadata: {
      name: parts.name ?? 'template',
      namespace: 'ns',
      annotations: parts.expected === undefined ? undefined : { [Annotation.expectedValues]: parts.expected },
    },
    spec: {
      placementRefs: [{ name: 'dummy' }],
      manifestWorkTemplate: {
        workload: { manifests: parts.manifests ?? [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'cm' } }] },
        deleteOption: { propagationPolicy: 'Orphan' },
      },
    },
  });

describe('findTemplateProblem', () => {
  test.each<{ name: string; parts: Parameters<typeof template>[0]; want?: RegExp }>([
    { name: 'a plain template', parts: {} },
    { name: 'a template with expected values', parts: { expected: ready } },
    {
      name: 'no manifests',
      parts: { manifests: [] },
      want: /^ManifestWorkReplicaSet ns\/template: spec\.manifestWorkTemplate\.workload\.manifests is empty; give/,
    },
    {
      name: 'an image of an example that was not filled in',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as the example has it before it is filled in.
      parts: { manifests: [{ spec: { containers: [{ name: 'a', image: '${GATEWAY_IMAGE}' }] } }] },
      want: /^ManifestWorkReplicaSet ns\/template: image "\$\{GATEWAY_IMAGE\}" is a placeholder; apply the template with your image/,
    },
    {
      name: 'a variable that a container expands, and a placeholder that is no image',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell expands it.
      parts: { manifests: [{ spec: { containers: [{ image: 'registry.test/a:1', args: ['$(HOST)', '${HOME}'] }] } }] },
    },
    { name: 'more than an agent takes', parts: { manifests: [{ data: 'x'.repeat(600_000) }] }, want: /has 6\d{5} bytes; divide it/ },
    {
      name: 'an annotation that cannot be read',
      parts: { expected: 'ready' },
      want: /^ManifestWorkReplicaSet ns\/template: annotation .* "ready" is no JSON/,
    },
    {
      name: 'a manifest that is not in the template',
      parts: { expected: expecting({ manifestIndex: 1, name: 'a', value: '' }) },
      want: /expects a of manifestIndex 1; the template has 1 manifests, counted from 0$/,
    },
  ])('$name', ({ parts, want }) => {
    if (want) expect(findTemplateProblem(template(parts))).toMatch(want);
    else expect(findTemplateProblem(template(parts))).toBeUndefined();
  });
});

describe('desiredWork', () => {
  const upgrade = { namespace: 'ns', name: 'upgrade', uid: 'uid-1' };

  test('is the template with the labels of the upgrade', () => {
    const source = template({ expected: ready });
    expect(desiredWork({ upgrade, cluster: 'spoke', template: source, name: 'ns.template-abcde', talmStrict: false })).toEqual({
      apiVersion: 'work.open-cluster-management.io/v1',
      kind: 'ManifestWork',
      metadata: {
        name: 'ns.template-abcde',
        namespace: 'spoke',
        labels: {
          'openshift-cluster-group-upgrades/clusterGroupUpgrade': 'upgrade',
          'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace': 'ns',
          'flotilla.io/upgrade-uid': 'uid-1',
          'flotilla.io/work': 'rollout',
        },
        annotations: { 'openshift-cluster-group-upgrades/expectedValues': ready },
      },
      spec: source.spec?.manifestWorkTemplate,
    });
  });

  test('has the annotation also when the template has none', () => {
    const work = desiredWork({ upgrade, cluster: 'spoke', template: template({}), name: 'x', talmStrict: false });
    expect(work.metadata.annotations).toEqual({ [Annotation.expectedValues]: '' });
  });

  test('asks of every manifest that is read back what its status is of; strictly it is the template', () => {
    const source = template({ expected: ready });
    const identifier = { group: 'apps', resource: 'deployments', name: 'app', namespace: 'default' };
    const read = { resourceIdentifier: identifier, feedbackRules: [{ type: 'WellKnownStatus' }] };
    const unread = { resourceIdentifier: { ...identifier, name: 'other' }, updateStrategy: { type: 'CreateOnly' } };
    const spec = { ...source.spec?.manifestWorkTemplate, manifestConfigs: [read, unread] };
    const given = { ...source, spec: { ...source.spec, manifestWorkTemplate: spec } };
    const made = (talmStrict: boolean) => desiredWork({ upgrade, cluster: 'spoke', template: given, name: 'x', talmStrict });
    const jsonPaths = [
      { name: 'flotilla.io/generation', path: '.metadata.generation' },
      { name: 'flotilla.io/observedGeneration', path: '.status.observedGeneration' },
    ];
    const asking = { ...read, feedbackRules: [...read.feedbackRules, { type: 'JSONPaths', jsonPaths }] };
    expect(made(false)).toMatchObject({ spec: { ...spec, manifestConfigs: [asking, unread] } });
    expect(made(true).spec).toEqual(spec);
  });

  test('asks for the generation of each condition that a value is read of, by the same path', () => {
    const paths = [
      { name: 'isPrepCompleted', path: '.status.conditions[?(@.type=="PrepCompleted")].status' },
      { name: 'why', path: '.status.conditions[0].reason', version: 'v1' },
      { name: 'state', path: '.status.state' },
      { name: 'list', path: '.status.conditions[0]' },
      { name: 'other', path: '.spec.others[0].name' },
    ];
    const source = template({});
    const manifestConfigs = [
      { resourceIdentifier: { resource: 'x', name: 'y' }, feedbackRules: [{ type: 'JSONPaths', jsonPaths: paths }] },
    ];
    const spec = { ...source.spec?.manifestWorkTemplate, manifestConfigs };
    const given = ManifestWorkReplicaSet.schema.parse({ ...source, spec: { ...source.spec, manifestWorkTemplate: spec } });
    const made = desiredWork({ upgrade, cluster: 'spoke', template: given, name: 'x', talmStrict: false });
    expect(made).toMatchObject({
      spec: {
        manifestConfigs: [
          {
            feedbackRules: [
              { type: 'JSONPaths', jsonPaths: paths },
              {
                type: 'JSONPaths',
                jsonPaths: [
                  { name: 'flotilla.io/generation' },
                  { name: 'flotilla.io/observedGeneration' },
                  {
                    name: 'flotilla.io/observedGeneration/isPrepCompleted',
                    path: '.status.conditions[?(@.type=="PrepCompleted")].observedGeneration',
                  },
                  { name: 'flotilla.io/observedGeneration/why', path: '.status.conditions[0].observedGeneration', version: 'v1' },
                ],
              },
            ],
          },
        ],
      },
    });
  });
});

describe('trimWorkStatus', () => {
  test('keeps the first condition of ready manifests, and of others all of them without feedback', () => {
    const work = build({
      conditions: reported(1),
      manifests: [manifest(0, [text('v', 'x')]), manifest(1, [text('v', 'y')], { Available: 'False' })],
    });
    const { manifests } = trimWorkStatus(work);
    expect(
      manifests.map(({ resourceMeta, conditions, statusFeedback }) => [
        resourceMeta.ordinal,
        conditions?.map(({ type }) => type),
        statusFeedback,
      ]),
    ).toEqual([
      [0, ['Applied'], { values: [text('v', 'x')] }],
      [1, ['Applied', 'Available', 'StatusFeedbackSynced'], {}],
    ]);
  });

  test('a manifest whose feedback could not be read is not ready', () => {
    const unread = manifest(0, [text('v', 'x')], { StatusFeedbackSynced: 'False' });
    const { manifests } = trimWorkStatus(build({ conditions: reported(1), manifests: [unread] }));
    expect(manifests[0]?.conditions).toHaveLength(3);
    expect(manifests[0]?.statusFeedback).toEqual({});
  });

  test('a work without a status has no manifests', () => expect(trimWorkStatus(build({}))).toEqual({ manifests: [] }));

  test('stays within its size and prefers what is not ready', () => {
    const many = Array.from({ length: 200 }, (_, index) => manifest(index, [], index === 150 ? { Applied: 'False' } : {}));
    const trimmed = trimWorkStatus(build({ conditions: reported(1), manifests: many }), 2000);
    expect(Buffer.byteLength(JSON.stringify(trimmed))).toBeLessThan(2100);
    expect(trimmed.manifests.map(({ resourceMeta }) => resourceMeta.ordinal)).toContain(150);
    expect(trimmed.manifests.length).toBeGreaterThan(1);
  });

  test('cuts long messages in their middle', () => {
    const message = `Failed to apply: ${'and so on '.repeat(1_000)}quota exceeded`;
    const long = { ...manifest(0), conditions: [condition('Applied', 'False', { message })] };
    const kept = trimWorkStatus(build({ conditions: reported(1), manifests: [long] })).manifests[0]?.conditions?.[0]?.message ?? '';
    expect(kept).toMatch(/^Failed to apply: .*… .*quota exceeded$/);
    expect(kept.length).toBeLessThanOrEqual(256);
  });
});

describe('trimWork', () => {
  test('judges a trimmed work as it judges the whole one', () => {
    for (const { work } of rows) expect(judge(work, trimWork(build(work)))).toEqual(judge(work));
  });

  test('drops the manifests', () => expect(trimWork(build({ conditions: reported(1) })).spec).toBeUndefined());
});
