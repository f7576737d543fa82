import { expect, test } from 'vitest';
import type { Json } from '../json-values.ts';
import { driftOf } from './drift.ts';
import { generic } from './generic.ts';
import { configMap } from './simple-kinds.ts';
import { deployment } from './workloads.ts';

const wrote = (manager: string, fieldsV1: Json, more: Json = {}): Json => ({ manager, operation: 'Update', fieldsV1, ...more });
const object = (fields: Json, ...managedFields: Json[]): Json => ({ metadata: { name: 'x', managedFields }, ...fields });

test('names the field and who owns it now', () => {
  const live = object(
    { data: { 'a.b/c': 'theirs', same: '1' } },
    wrote('flotilla-version-operator', { 'f:data': { 'f:same': {} } }),
    wrote('kubectl-edit', { 'f:data': { 'f:a.b/c': {} } }),
    wrote('other', { 'f:data': { 'f:theirs': {} } }),
  );
  const built = { metadata: { name: 'x' }, data: { 'a.b/c': 'ours', same: '1' } };
  expect(driftOf(live, configMap.merge(live, built))).toEqual({ fields: ['data."a.b/c" changed'], more: 0, managers: ['kubectl-edit'] });
});

test('tells of nothing that this operator itself has written, as of an object in several files', () => {
  const live = object({ data: { a: 'first' } }, wrote('flotilla-version-operator', { 'f:data': { 'f:a': {} } }));
  const built = { metadata: { name: 'x' }, data: { a: 'second' } };
  expect(driftOf(live, configMap.merge(live, built))).toEqual({ fields: [], more: 0, managers: [] });
});

test('looks into entries of lists, and at lists that are kept as one', () => {
  const container = (image: string, command: string) => ({ name: 'main', image, command: [command] });
  const spec = (...parts: [string, string]) => ({ spec: { template: { spec: { containers: [container(...parts)] } } } });
  const fields = { 'k:{"name":"main"}': { 'f:image': {}, 'f:command': {} } };
  const live = object(
    spec('other:1', 'b'),
    wrote('hand', { 'f:spec': { 'f:template': { 'f:spec': { 'f:containers': fields } } } }),
    wrote('controller', { 'f:spec': { 'f:template': { 'f:spec': { 'f:containers': fields } } } }, { subresource: 'status' }),
  );
  const { fields: told, managers } = driftOf(live, deployment.merge(live, { metadata: { name: 'x' }, ...spec('main:1', 'a') }));
  expect(told).toEqual(
    expect.arrayContaining(['spec.template.spec.containers[main].image changed', 'spec.template.spec.containers[main].command[0] changed']),
  );
  expect(managers).toEqual(['hand']);
});

test('says what was added and what was removed, and names nobody where the field is gone', () => {
  const live = object({ spec: { a: { theirs: 1 } } }, wrote('hand', { 'f:spec': { 'f:other': {} } }));
  expect(driftOf(live, generic.merge(live, { metadata: { name: 'x' }, spec: { a: { b: 1 } } }))).toEqual({
    fields: ['spec.a.theirs removed', 'spec.a.b added'],
    more: 0,
    managers: [],
  });
});

test('is bounded', () => {
  const keys = Array.from({ length: 30 }, (_, index) => `${index}`.repeat(200));
  const built = { metadata: { name: 'x' }, data: Object.fromEntries(keys.map((key) => [key, '1'])) };
  const { fields, more } = driftOf(object({}), configMap.merge(object({}), built));
  expect([fields.length, more]).toEqual([1, 0]);
  const live = object({ data: { a: '1' } });
  const partly = driftOf(live, configMap.merge(live, built));
  expect([partly.fields.length, partly.more, Math.max(...partly.fields.map(({ length }) => length))]).toEqual([10, 20, 206]);
});
