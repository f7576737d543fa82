import { describe, expect, test } from 'vitest';
import { type Json, objectAt } from '../json-values.ts';
import { hasLeftovers, takenOver } from './field-ownership.ts';
import { generic } from './generic.ts';

const built = {
  apiVersion: 'g/v1',
  kind: 'Boat',
  metadata: { name: 'b', labels: { a: '1' } },
  spec: { sails: 2, crew: [{ name: 'ann', age: 30 }], flags: ['x'] },
};
const at = '2026-01-01T00:00:00Z';
const entry = (manager: string, fieldsV1: Json, more: Json = {}): Json => ({
  manager,
  operation: manager === 'flotilla-version-operator' ? 'Apply' : 'Update',
  apiVersion: 'g/v1',
  time: at,
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...more,
});
const live = (...managedFields: Json[]): Json => ({ ...built, metadata: { ...built.metadata, managedFields } });
const OURS = 'flotilla-version-operator';
const THEIRS = 'cluster-version-operator';
const extra = { 'f:spec': { 'f:colour': {} } };

describe('what a release before has left in an object', () => {
  test.each<{ name: string; given: Json[]; want: boolean }>([
    { name: 'nothing, where nobody says who wrote what', given: [], want: false },
    {
      name: 'nothing, where the release has all that was applied',
      given: [
        entry(OURS, {
          'f:metadata': { 'f:labels': { 'f:a': {} } },
          'f:spec': {
            'f:sails': {},
            'f:crew': { '.': {}, 'k:{"name":"ann"}': { '.': {}, 'f:name': {}, 'f:age': {} } },
            'f:flags': { 'v:"x"': {} },
          },
        }),
      ],
      want: false,
    },
    { name: 'a field that we applied', given: [entry(OURS, extra)], want: true },
    { name: 'a label that we applied', given: [entry(OURS, { 'f:metadata': { 'f:labels': { 'f:b': {} } } })], want: true },
    { name: 'an entry of a list', given: [entry(OURS, { 'f:spec': { 'f:crew': { 'k:{"name":"bob"}': {} } } })], want: true },
    {
      name: 'a field of an entry',
      given: [entry(OURS, { 'f:spec': { 'f:crew': { 'k:{"name":"ann"}': { 'f:rank': {} } } } })],
      want: true,
    },
    {
      name: 'nothing, where an entry leaves a key of its list to its default',
      given: [entry(OURS, { 'f:spec': { 'f:crew': { 'k:{"name":"ann","ship":"b"}': { 'f:age': {} } } } })],
      want: false,
    },
    { name: 'a value of a set', given: [entry(OURS, { 'f:spec': { 'f:flags': { 'v:"y"': {} } } })], want: true },
    { name: 'a field of the reference operator', given: [entry(THEIRS, extra)], want: true },
    { name: 'nothing of anybody else', given: [entry('kubectl-edit', extra), entry('webhook', extra)], want: false },
    { name: 'nothing that we wrote otherwise', given: [entry(OURS, extra, { operation: 'Update' })], want: false },
    { name: 'nothing of a status', given: [entry(THEIRS, { 'f:status': { 'f:phase': {} } })], want: false },
    { name: 'nothing in another version', given: [entry(THEIRS, extra, { apiVersion: 'g/v1beta1' })], want: false },
  ])('$name', ({ given, want }) => {
    expect(hasLeftovers(live(...given), built)).toBe(want);
    expect(generic.differs(live(...given), built)).toBe(want);
  });

  test('nothing of whoever made what cannot be changed', () => {
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'c' }, spec: {} };
    const filledIn = entry(THEIRS, { 'f:spec': { 'f:storageClassName': {} } }, { apiVersion: 'v1' });
    expect(hasLeftovers({ ...claim, metadata: { name: 'c', managedFields: [filledIn] } }, claim)).toBe(false);
  });
});

describe('what is taken over', () => {
  const other = entry('kubectl-edit', { 'f:spec': { 'f:keel': {} } });

  test('is nothing where the reference operator left nothing', () => {
    expect(takenOver(live(entry(OURS, extra), other), built)).toBeUndefined();
  });

  test('is all that predecessors wrote, beside what we did; a status stays theirs', () => {
    const status = { 'f:status': { 'f:phase': {} } };
    const taken = takenOver(
      live(
        entry(THEIRS, { 'f:spec': { 'f:colour': {}, 'f:crew': { '.': {}, 'k:{"name":"ann"}': { 'f:age': {} } } }, ...status }),
        other,
        entry(OURS, { 'f:spec': { 'f:sails': {}, 'f:crew': { 'k:{"name":"ann"}': { 'f:name': {} } } } }),
        entry(THEIRS, { 'f:status': {} }, { subresource: 'status' }),
      ),
      built,
    );
    expect(taken).toEqual([
      entry(OURS, {
        'f:spec': { 'f:sails': {}, 'f:colour': {}, 'f:crew': { '.': {}, 'k:{"name":"ann"}': { 'f:name': {}, 'f:age': {} } } },
      }),
      entry(THEIRS, status),
      other,
      entry(THEIRS, { 'f:status': {} }, { subresource: 'status' }),
    ]);
  });

  test('is ours to leave out then', () => {
    const [ours] = takenOver(live(entry(THEIRS, extra)), built) ?? [];
    expect(hasLeftovers(live(objectAt(ours)), built)).toBe(true);
    expect(takenOver(live(objectAt(ours)), built)).toBeUndefined();
  });
});
