import { expect, test } from 'vitest';
import { managedFieldsOf } from './kubernetes.ts';

test.each<{ name: string; managedFields: unknown; want: readonly object[] }>([
  { name: 'nothing where nothing is noted', managedFields: undefined, want: [] },
  { name: 'nothing where null is', managedFields: null, want: [] },
  { name: 'nothing of what is no list', managedFields: 'x', want: [] },
  {
    name: 'null as absent, field by field',
    managedFields: [{ manager: null, subresource: null, time: null, fieldsV1: null, operation: 'Update' }],
    want: [{ manager: '', subresource: '', operation: 'Update' }],
  },
  {
    name: 'the entries beside one that is none',
    managedFields: [7, { manager: 'kubectl', time: 't', fieldsV1: { 'f:spec': {} } }, { manager: 7 }, null],
    want: [{ manager: 'kubectl', subresource: '', time: 't', fieldsV1: { 'f:spec': {} } }],
  },
])('reads $name', ({ managedFields, want }) => {
  expect(managedFieldsOf({ name: 'a', managedFields })).toEqual(want);
});
