import { describe, expect, test } from 'vitest';
import type { KubeObject, Resource } from '../kubernetes.ts';
import { ManagedClusterAction, ManagedClusterView } from './actions-and-views.ts';
import { ManagedCluster } from './managed-cluster.ts';
import { ManifestWork } from './manifest-work.ts';
import { Policy } from './policy.ts';

const fine = { type: 'Applied', status: 'True', reason: 'Done', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
const kinds: readonly Resource[] = [ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork, Policy];

/** Parses as a client does: from JSON, where a spoke may write any number. */
const parse = <T extends KubeObject>(kind: Resource<T>, status: string, spec: object = {}): T =>
  kind.schema.parse(JSON.parse(`{"metadata":{"name":"a","namespace":"b"},"spec":${JSON.stringify(spec)},"status":${status}}`));

const hostile: readonly (readonly [string, string])[] = [
  ['a text', '"no"'],
  ['a list', '[]'],
  ['null', 'null'],
  ['conditions that are none', '{"conditions":{"type":"x"}}'],
  ['entries that are none', '{"conditions":[null,1,"x",[],{}],"resourceStatus":{"manifests":[null,{"resourceMeta":7}]},"status":[null,7]}'],
  ['a generation that no double holds', `{"conditions":[{"observedGeneration":9007199254740993,${JSON.stringify(fine).slice(1)}]}`],
  ['a generation that is a text', `{"conditions":[{"observedGeneration":"1",${JSON.stringify(fine).slice(1)}]}`],
  [
    'a feedback that is none',
    `{"resourceStatus":{"manifests":[{"resourceMeta":{"ordinal":0},"statusFeedback":{"values":[1,{"name":"x"}]}}]}}`,
  ],
  ['100,000 conditions', `{"conditions":[${Array.from({ length: 100_000 }, () => '{}').join(',')}]}`],
  ['a compliance that is a number', '{"compliant":7}'],
];

describe.each(hostile)('a status with %s', (_, status) => {
  test.each(kinds.map((kind) => [kind.kind, kind] as const))('leaves the rest of a %s readable', (_name, kind) => {
    expect(parse(kind, status)).toMatchObject({ metadata: { name: 'a', namespace: 'b' }, spec: {} });
  });
});

test('a refusal arrives whatever the spoke writes', () => {
  for (const [, status] of hostile) expect(parse(ManagedCluster, status, { hubAcceptsClient: false }).spec?.hubAcceptsClient).toBe(false);
});

test.each([{ hubAcceptsClient: 'true' }, { hubAcceptsClient: 1 }, { hubAcceptsClient: null }])('%j lets nobody in', (spec) => {
  expect(parse(ManagedCluster, '{}', spec).spec?.hubAcceptsClient).toBeUndefined();
});

test('readable entries of a list are read, in order', () => {
  const conditions = [{}, fine, { ...fine, status: 'Maybe' }, { ...fine, type: 'Other', observedGeneration: 3 }];
  expect(parse(ManagedCluster, JSON.stringify({ conditions })).status?.conditions).toEqual([
    fine,
    { ...fine, type: 'Other', observedGeneration: 3 },
  ]);
});

test('a generation beyond all numbers counts as the largest', () => {
  const status = `{"conditions":[{"observedGeneration":9223372036854775807,${JSON.stringify(fine).slice(1)}]}`;
  expect(parse(ManagedClusterView, status).status?.conditions?.[0]?.observedGeneration).toBe(Number.MAX_SAFE_INTEGER);
});

test('the last of too many conditions are read, because a hub appends its own', () => {
  const conditions = Array.from({ length: 100 }, (_, i) => ({ ...fine, type: `T${i}` }));
  const read = parse(ManagedCluster, JSON.stringify({ conditions })).status?.conditions;
  expect(read).toHaveLength(64);
  expect(read?.at(-1)?.type).toBe('T99');
});

test('a text beyond what servers take is not read', () => {
  const conditions = [{ ...fine, message: 'x'.repeat(40_000) }, fine];
  expect(parse(ManagedCluster, JSON.stringify({ conditions })).status?.conditions).toEqual([fine]);
});

test('a long message keeps its beginning and its end, which decides', () => {
  const conditions = [{ ...fine, message: `jobs ${'x'.repeat(32_000)} not found` }];
  const [{ message } = fine] = parse(ManagedCluster, JSON.stringify({ conditions })).status?.conditions ?? [];
  expect(message).toHaveLength(2_048);
  expect(message).toMatch(/^jobs x+…x+ not found$/);
});

test('the state of a manifest that can be read is read beside one that cannot', () => {
  const good = {
    resourceMeta: { ordinal: 1 },
    conditions: [fine],
    statusFeedback: { values: [{ name: 'a', fieldValue: { type: 'Integer', integer: 1 } }] },
  };
  const read = parse(ManifestWork, JSON.stringify({ resourceStatus: { manifests: [{ resourceMeta: { ordinal: 'x' } }, good] } }));
  expect(read.status?.resourceStatus?.manifests).toEqual([good]);
});
